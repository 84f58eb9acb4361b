import { expect, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { digestOf } from "lenso-jobs-plugin/job-provider";
import { brokenCube, cube } from "../shapes/cube.ts";
import { sphere } from "../shapes/sphere.ts";
import { binaryStl, textStl } from "../shapes/write-stl.ts";
import type { Triangles } from "../stl/triangle-buffer.ts";
import { type Bench, openBench } from "../testing/open-bench.ts";
import { AttemptLost } from "../testing/run-attempt.ts";
import { readCheckpoint, SLICING } from "./layer-checkpoint.ts";
import type { SlicerResult } from "./slicer-result.ts";

const ball = binaryStl(sphere({ radius: 5, around: 24, up: 12 }), "ball");
const box = textStl(cube(4), "box");
/** Ten layers of the ball, and checkpoints after 3, 6 and 9 of them. */
const ten = { files: { "/ball.stl": ball }, settings: { layerHeight: 1, checkpointEvery: 3 } };
/** Four layers of the box, and a checkpoint after two. */
const four = { files: { "/box.stl": box }, settings: { layerHeight: 1, checkpointEvery: 2 } };

/** What a run without a break ends with. */
async function wholeRun(job: typeof ten | typeof four) {
  await using bench = await openBench(job);
  const { result } = await bench.attempt();
  return { result: result as SlicerResult, digests: bench.digests() };
}
const [tenWhole, fourWhole] = [await wholeRun(ten), await wholeRun(four)];

/** The same surface inside out. */
function insideOut({ count, corners }: Triangles): Triangles {
  const rows = Array.from({ length: count }, (_, triangle) => {
    const row = [...corners.subarray(9 * triangle, 9 * triangle + 9)];
    return [...row.slice(0, 3), ...row.slice(6), ...row.slice(3, 6)];
  });
  return { count, corners: Float32Array.from(rows.flat()) };
}

async function summaryOf(bench: Bench) {
  const chunks = await Array.fromAsync(bench.artifacts.get("summary.json")?.read() ?? []);
  return JSON.parse(Buffer.concat(chunks).toString());
}

test("a job publishes a drawing a layer and one summary, and its result says the model in numbers", async () => {
  await using bench = await openBench({ files: { "/parts/box.stl": box } });
  const { result } = await bench.attempt();
  expect(result).toMatchObject({
    model: { digest: digestOf(box), format: "text" },
    mesh: { triangles: 12, vertices: 8, closed: true, openEdges: 0, turned: false },
    bounds: { minimum: [0, 0, 0], maximum: [4, 4, 4] },
    area: 96,
    layers: 20,
    outlines: 20,
    gaps: 0,
  });
  expect(result?.volume).toBeCloseTo(64, 9);
  expect(result?.volumeFromLayers).toBeCloseTo(64, 9);
  const paths = [...bench.artifacts.keys()];
  expect(paths).toHaveLength(21);
  expect(paths.slice(0, 2)).toEqual(["layers/000000.svg", "layers/000001.svg"]);
  const summary = await summaryOf(bench);
  expect(summary.layers[3]).toEqual({ layer: 3, z: 0.7, area: 16, outlines: 1, gaps: 0 });
  expect(summary).toMatchObject({ layerHeight: 0.2, model: { unit: "millimetre" }, mesh: { closed: true } });
});

test("an attempt that resumes publishes what is missing, and all bytes are those of a run without a break", async () => {
  await using bench = await openBench(ten);
  const lost = await bench.attempt({ loseAfter: 8 });
  expect(lost.error).toBeInstanceOf(AttemptLost);
  expect(bench.checkpoints.map(({ metadata }) => metadata.nextLayer)).toEqual([3, 6]);
  const resumed = await bench.attempt();
  expect(resumed.result).toEqual(tenWhole.result);
  expect(resumed.published[0]).toBe("layers/000006.svg");
  expect(resumed.published).toHaveLength(10 - 6 + 1);
  expect(bench.digests()).toEqual(tenWhole.digests);
  expect(bench.logs.at(-1)).toEqual({ level: "info", message: "going on at layer 6 of 10" });
});

test("however often attempts are lost, and wherever, the bytes are the same in the end", async () => {
  await using bench = await openBench(ten);
  for (const loseAfter of [0, 2, 3, 4, 1, 3]) // before the first checkpoint, at one, after one, twice from the same
    expect((await bench.attempt({ loseAfter })).error).toBeInstanceOf(AttemptLost);
  expect((await bench.attempt()).error).toBeUndefined();
  expect(bench.digests()).toEqual(tenWhole.digests);
});

test("an attempt that is lost with its last layer published still ends with the same bytes", async () => {
  await using bench = await openBench(four);
  await bench.attempt({ loseAfter: 4 });
  expect(bench.checkpoints.map(({ metadata }) => metadata.nextLayer)).toEqual([2]);
  await bench.attempt();
  expect(bench.digests()).toEqual(fourWhole.digests);
});

test("a checkpoint of another way of slicing is passed over, and the job begins at the first layer", async () => {
  await using bench = await openBench(four);
  await bench.attempt({ loseAfter: 3 });
  const [kept] = bench.checkpoints.splice(0);
  bench.checkpoints.push({ ...kept!, metadata: { ...kept!.metadata, slicing: SLICING + 1 } });
  expect((await bench.attempt()).published[0]).toBe("layers/000000.svg");
  expect(bench.checkpoints.map(({ metadata }) => metadata)).toEqual([kept!.metadata]);
  expect(bench.digests()).toEqual(fourWhole.digests);
});

test("with a checkpoint of another model a job begins at the first layer, and says so", async () => {
  await using bench = await openBench(four);
  await bench.attempt({ loseAfter: 3 });
  const [kept] = bench.checkpoints.splice(0);
  bench.checkpoints.push({ ...kept!, metadata: { ...kept!.metadata, meshDigest: digestOf("another") } });
  expect((await bench.attempt()).published[0]).toBe("layers/000000.svg");
  expect(bench.logs.at(-1)).toMatchObject({ level: "warn" });
  expect(bench.digests()).toEqual(fourWhole.digests);
});

test("a checkpoint's file holds exactly the layers before it, or it is none", () => {
  const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const row = { layer: 0, z: 1, area: 1, outlines: 1, gaps: 0 };
  expect(readCheckpoint(bytes([row]), 1)).toEqual([row]);
  for (const value of [[], [row, row], [{ ...row, layer: 1 }], [{ ...row, area: "1" }], {}, null])
    expect(readCheckpoint(bytes(value), 1)).toBeUndefined();
  expect(readCheckpoint(new TextEncoder().encode("[{"), 1)).toBeUndefined();
});

test("progress goes through reading, checking and slicing, and never backwards in a phase", async () => {
  await using bench = await openBench(ten);
  await bench.attempt();
  const phases = bench.progress.map(({ phase }) => phase);
  expect([...new Set(phases)]).toEqual(["read", "check", "slice"]);
  expect(phases).toEqual(
    [...phases].sort((a, b) => "read check slice".indexOf(a) - "read check slice".indexOf(b)),
  );
  for (const phase of ["read", "check", "slice"]) {
    const steps = bench.progress.filter((update) => update.phase === phase);
    const completed = steps.map((update) => update.completed ?? 0);
    expect(completed).toEqual([...completed].sort((a, b) => a - b));
    expect(completed.at(-1)).toBe(steps.at(-1)?.total as number);
  }
});

test("an aborted attempt ends at once with the reason, and publishes nothing more", async () => {
  await using bench = await openBench(ten);
  const { error, published } = await bench.attempt({ abortAfter: 3 });
  expect(error?.message).toBe("the worker stops");
  expect(published).toHaveLength(3);
});

test("a broken model fails the job, and its log says where it is broken", async () => {
  await using bench = await openBench({ files: { "/broken.stl": textStl(brokenCube(4), "broken") } });
  const { error, published } = await bench.attempt();
  expect(error?.name).toBe("ModelRefused");
  expect(published).toEqual([]);
  expect(bench.logs.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual([
    "3 edges belong to one triangle only: a hole; the first from (0, 0, 4) to (0, 4, 4) mm, triangles 3",
    expect.stringMatching(/^3 edges run the same way in both triangles: one is flipped; the first from/),
    "the model is not closed: mend it, or set onBrokenMesh to slice",
  ]);
});

test("a broken model is sliced with gaps when that is asked for", async () => {
  const files = { "/broken.stl": textStl(brokenCube(4), "broken") };
  await using bench = await openBench({ files, settings: { onBrokenMesh: "slice", layerHeight: 1 } });
  const { result } = await bench.attempt();
  expect(result).toMatchObject({ mesh: { closed: false, openEdges: 3 }, layers: 4, outlines: 0, gaps: 4 });
  expect(bench.logs.map(({ level }) => level)).toEqual(["info", "warn", "warn"]);
});

test("a model that is inside out is turned, and gives the layers of the right one", async () => {
  await using bench = await openBench({
    ...four,
    files: { "/box.stl": textStl(insideOut(cube(4)), "box") },
  });
  const { result } = await bench.attempt();
  expect(result).toMatchObject({ mesh: { turned: true, closed: true }, area: 96 });
  expect(result?.volume).toBeCloseTo(64, 9);
  const { "summary.json": _one, ...layers } = bench.digests();
  const { "summary.json": _other, ...wanted } = fourWhole.digests;
  expect(layers).toEqual(wanted);
});

test("a unit is what one number of the file means in millimetres", async () => {
  await using bench = await openBench({
    files: { "/box.stl": box },
    settings: { unit: "inch", layerHeight: 25.4 },
  });
  const { result } = await bench.attempt();
  expect(result).toMatchObject({ layers: 4, bounds: { maximum: [101.6, 101.6, 101.6] } });
});

test.each<[string, Record<string, string | Uint8Array>, object, RegExp]>([
  ["no file", {}, {}, /selects 0 files: expected one/],
  ["two files", { "/a.stl": box, "/b.stl": box }, {}, /selects 2 files: expected one/],
  ["another kind of file", { "/a.obj": box }, {}, /whose name ends in \.stl/],
  [
    "a large file",
    { "/a.stl": box },
    { limits: { maxTriangles: 99, maxLayers: 99, maxFileBytes: 99 } },
    /allowed are 99/,
  ],
  [
    "many triangles",
    { "/a.stl": ball },
    { limits: { maxTriangles: 9, maxLayers: 99, maxFileBytes: 1e6 } },
    /allowed are 9/,
  ],
  [
    "many layers",
    { "/a.stl": box },
    { limits: { maxTriangles: 99, maxLayers: 9, maxFileBytes: 1e6 } },
    /more than 9 layers/,
  ],
  ["a cut file", { "/a.stl": ball.slice(0, 999) }, {}, /ends after 18 of 528 triangles/],
  ["a flat model", { "/a.stl": box }, { layerHeight: 9 }, /is the unit right\?/],
])("%s: the job fails, and the last line of its log says why", async (_what, files, settings, message) => {
  await using bench = await openBench({ files, settings: { ...settings } });
  const { error, published } = await bench.attempt();
  expect(error).toBeInstanceOf(Error);
  expect(published).toEqual([]);
  expect(bench.logs.at(-1)).toEqual({ level: "error", message: expect.stringMatching(message) });
});

test.each<[object]>([
  [{ layerHeight: 0 }],
  [{ layerHeight: "0.2" }],
  [{ unit: "cubit" }],
  [{ checkpointEvery: 0 }],
  [{ checkpointEvery: 1.5 }],
  [{ speed: 1 }],
  [{ limits: { maxTriangles: 2_000_001, maxLayers: 1, maxFileBytes: 1 } }],
])("a configuration of %j is refused at submission", async (settings) => {
  await expect(openBench({ files: {}, settings: { ...settings } })).rejects.toThrow("CONFIGURATION_INVALID");
});

test("the query `layer` gives a published layer's outlines while others are still to be cut", async () => {
  await using bench = await openBench({ files: { "/box.stl": box } });
  await bench.attempt({ loseAfter: 3 });
  expect(await bench.call("layer", { layer: 2 })).toEqual({
    layer: 2,
    z: 0.5,
    outlines: [
      [
        [0, 0],
        [4, 0],
        [4, 4],
        [0, 4],
      ],
    ],
    gaps: [],
  });
  expect(await bench.call("layer", { layer: 3 })).toBeNull();
  expect(await bench.call("layer", { layer: -1 })).toBe("INPUT_INVALID");
});

test("commands declare what their effects allow, and have them in the workshop", async () => {
  await using bench = await openBench({ files: { "/box.stl": box } });
  await bench.attempt({ loseAfter: 1 });
  const inWorkshop = (folder: string) => readdir(join(bench.folder, "workshop", folder));
  expect(bench.provider.commands.map(({ name, replayPolicy }) => [name, replayPolicy])).toEqual([
    ["note-layer", "replay-safe"],
    ["print-proof", "reconcile-required"],
    ["announce", "non-replayable"],
  ]);

  const note = { layer: 0, text: "rough at the rim" };
  expect(await bench.call("note-layer", note, "../n")).toEqual({ noteId: "../n" });
  expect(await bench.call("note-layer", note, "../n")).toEqual({ noteId: "../n" });
  const notes = await inWorkshop("notes");
  expect(notes).toHaveLength(1);
  expect(JSON.parse(await readFile(join(bench.folder, "workshop/notes", notes[0]!), "utf8"))).toEqual({
    id: "../n",
    jobId: "job",
    ...note,
  });

  expect(await bench.call("print-proof", { layer: 1 })).toEqual({ printed: false });
  expect(await bench.call("print-proof", { layer: 0 })).toEqual({ printed: true });
  const [proof, ...more] = await inWorkshop("hot-folder");
  expect(more).toEqual([]);
  expect(digestOf(await readFile(join(bench.folder, "workshop/hot-folder", proof!)))).toBe(
    bench.digests()["layers/000000.svg"] as string,
  );

  expect(await bench.call("announce", { text: "half way" })).toBeNull();
  expect(await bench.call("announce", { text: "half way" })).toBeNull();
  const lines = await readFile(join(bench.folder, "workshop/announcements.jsonl"), "utf8");
  expect(lines).toBe(`{"jobId":"job","text":"half way"}\n`.repeat(2));
});
