// Writes the models to try: bun run shapes [FOLDER]. Default: models/ beside this file.
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { exampleFiles } from "./shapes/example-files.ts";

const folder = resolve(process.argv[2] ?? join(import.meta.dir, "models"));
await mkdir(folder, { recursive: true });
for (const [name, make] of Object.entries(exampleFiles)) {
  const content = make();
  await writeFile(join(folder, name), content);
  console.log(`${join(folder, name)}: ${content.length} bytes`);
}
