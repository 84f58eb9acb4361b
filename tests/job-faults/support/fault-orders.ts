import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cube } from "../../../examples/slicer/shapes/cube.ts";
import { sphere } from "../../../examples/slicer/shapes/sphere.ts";
import { binaryStl, textStl } from "../../../examples/slicer/shapes/write-stl.ts";
import { sealDirectory } from "../../../job-provider/files/index.ts";
import type { JobRevision, JobRevisionStore, JsonObject } from "../../../job-provider/index.ts";

/** What a job of these tests is about: a provider, one file of the sealed input, and settings. The same one always comes to the same end. */
export interface FaultOrder {
  readonly provider: "examples/factors" | "examples/slicer" | "examples/notify";
  readonly path: string;
  readonly settings: JsonObject;
}

/** Orders that end alike however often they are interrupted, in their results and in every byte that they publish. */
export const repeatableOrders: readonly FaultOrder[] = [
  { provider: "examples/factors", path: "/small.txt", settings: {} },
  { provider: "examples/factors", path: "/large.txt", settings: { separator: ";" } },
  { provider: "examples/slicer", path: "/cube.stl", settings: { layerHeight: 1, checkpointEvery: 1 } },
  { provider: "examples/slicer", path: "/ball.stl", settings: { layerHeight: 2, checkpointEvery: 2 } },
];

/** An order whose effect is outside, where nothing can be taken back. */
export const noticeOrder: FaultOrder = {
  provider: "examples/notify",
  path: "/notice.txt",
  settings: { subject: "it is done" },
};

const files: Readonly<Record<string, string | Uint8Array>> = {
  "small.txt": "2\n12\n97\n360360\n",
  "large.txt": Array.from({ length: 24 }, (_, index) => `${1_000_000_000_039 + 2 * index}\n`).join(""),
  "cube.stl": textStl(cube(4), "cube"),
  "ball.stl": binaryStl(sphere({ radius: 5, around: 24, up: 12 }), "ball"),
  "notice.txt": "Layer by layer.\n",
};

/** Seals the files of all orders as one revision. */
export async function sealOrders(directory: string, revisions: JobRevisionStore): Promise<JobRevision> {
  await Promise.all(
    Object.entries(files).map(([name, content]) => writeFile(join(directory, name), content)),
  );
  return sealDirectory(revisions, { workspaceId: "orders", directory });
}
