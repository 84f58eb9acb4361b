// Draws the two layers that the README shows: bun run pictures.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { examplePictures } from "./shapes/example-pictures.ts";

const folder = join(import.meta.dir, "../../docs/assets/slicer");
await mkdir(folder, { recursive: true });
for (const [name, picture] of Object.entries(examplePictures())) {
  await writeFile(join(folder, name), picture);
  console.log(`docs/assets/slicer/${name}: ${picture.length} bytes`);
}
