import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { JobFileError } from "../job-file-error.ts";
import { givenWorkspace } from "./given-workspace.ts";

// Closes a workspace as a user for whom permissions count: first while it may not, then while it may.
if (process.geteuid?.() === 0) process.setuid?.(65_534);
const scene = await givenWorkspace({ input: { "/a/b": "x" } });
for (const [path, mode] of [
  ["read-only", 0o500],
  ["closed", 0o000],
] as const) {
  await mkdir(scene.inside(`${path}/below`), { recursive: true });
  await writeFile(scene.inside(`${path}/below/file`), "");
  await chmod(scene.inside(`${path}/below`), mode);
  await chmod(scene.inside(path), mode);
}
await chmod(scene.folder.at("attempts"), 0o500);
await scene.attempt.close().then(
  () => console.log("it was closed"),
  (error: unknown) => console.log(error instanceof JobFileError ? `${error.code}: ${error.message}` : error),
);
await chmod(scene.folder.at("attempts"), 0o700);
await scene.attempt.close();
console.log(`left: ${(await readdir(scene.folder.at("attempts"))).join() || "none"}`);
await scene[Symbol.asyncDispose]();
