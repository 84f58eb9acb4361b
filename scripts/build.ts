// Builds dist/: JavaScript and declarations from tsc, plus the files that the code reads at run time, each at its place
// beside the code, so that a path relative to a module is the same in the repository and in the package.
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root, runCommand } from "./gate/run-command.ts";

const assets = ["migrations", "capability/schemas", "plugin/config.schema.json"];

rmSync(join(root, "dist"), { recursive: true, force: true });
const { exitCode } = await runCommand(["tsc", "--project", "tsconfig.build.json"]);
for (const asset of assets) {
  if (existsSync(join(root, asset)))
    cpSync(join(root, asset), join(root, "dist", asset), { recursive: true });
  else console.error(`build: ${asset} is missing`);
}
process.exitCode = exitCode === 0 && assets.every((asset) => existsSync(join(root, asset))) ? 0 : 1;
