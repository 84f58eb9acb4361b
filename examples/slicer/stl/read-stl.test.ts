import { expect, test } from "bun:test";
import fc from "fast-check";
import { cube } from "../shapes/cube.ts";
import { sphere } from "../shapes/sphere.ts";
import { binaryStl, textStl } from "../shapes/write-stl.ts";
import { readStl } from "./read-stl.ts";
import { StlError } from "./stl-error.ts";
import { createTriangleBuffer } from "./triangle-buffer.ts";

const box = cube(20);
const ball = sphere({ radius: 15, around: 12, up: 6 });
const bytesOf = (content: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
  typeof content === "string" ? new TextEncoder().encode(content) : content;
const read = (content: string | Uint8Array<ArrayBuffer>, maxTriangles?: number) =>
  readStl([bytesOf(content)], maxTriangles === undefined ? {} : { maxTriangles });
const cornersOf = async (content: string | Uint8Array<ArrayBuffer>) => (await read(content)).corners;

/** The code that reading ends with; any error but the reader's own fails the test. */
async function problemOf(content: string | Uint8Array<ArrayBuffer>, maxTriangles?: number): Promise<string> {
  try {
    await read(content, maxTriangles);
  } catch (error) {
    if (error instanceof StlError) return error.code;
    throw error;
  }
  return "none";
}

/** The binary cube with one field changed. */
function changed(change: (view: DataView) => void): Uint8Array<ArrayBuffer> {
  const bytes = binaryStl(box, "cube");
  change(new DataView(bytes.buffer));
  return bytes;
}

test("what was written is read again, in both forms", async () => {
  for (const shape of [box, ball]) {
    expect(await read(binaryStl(shape, "a shape"))).toEqual({ ...shape, format: "binary" });
    expect(await read(textStl(shape, "a shape"))).toEqual({ ...shape, format: "text" });
  }
});

test("a binary file whose header begins like a text is binary", async () => {
  expect((await read(binaryStl(ball, "solid ball"))).format).toBe("binary");
  expect((await read(binaryStl(ball, `solid ${"x".repeat(74)}`))).format).toBe("binary");
});

test("a file may come in pieces of any size, down to single bytes and none", async () => {
  for (const content of [binaryStl(ball, "ball"), textStl(ball, "ball").replaceAll("\n", "\r\n")]) {
    const bytes = bytesOf(content);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1 }), async (sizes) => {
        const pieces: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = (sizes[turn % sizes.length] ?? 0) + (turn % 2);
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect((await readStl(pieces)).corners).toEqual(ball.corners);
      }),
      { numRuns: 15 },
    );
  }
});

test.each<[string, (text: string) => string]>([
  ["upper case", (text) => text.toUpperCase()],
  ["mixed case", (text) => text.replace(/facet|Vertex/g, (word) => `F${word.slice(1)}`)],
  ["a single line", (text) => text.replaceAll(/\s+/g, " ")],
  ["a line a word", (text) => text.replaceAll(" ", "\n").replaceAll("solid\n", "solid ")],
  ["tabs, form feeds and blank lines", (text) => text.replaceAll(" ", "\t\f ").replaceAll("\n", "\n\v\n")],
  ["line ends of old machines", (text) => text.replaceAll("\n", "\r")],
  ["space before and after", (text) => `\n \t${text}\n\n  `],
  ["no name", (text) => text.replaceAll("solid cube", "solid")],
  ["a name that is a keyword", (text) => text.replaceAll("solid cube", "solid facet")],
  [
    "a name that is a keyword, in a single line",
    (text) => text.replaceAll("cube", "facet it").replaceAll(/\s+/g, " "),
  ],
  ["a name of other letters", (text) => text.replaceAll("cube", "Würfel № 1 \u{1F4E6}")],
  ["no name at the end", (text) => text.replace("endsolid cube\n", "endsolid")],
  ["normals that are none", (text) => text.replaceAll(/normal .*/g, "normal nan -NaN(ind) inf")],
  ["exponents and signs", (text) => text.replaceAll(/\b20\b/g, "+2.0E+001").replaceAll(/\b0\b/g, "-0.e5")],
  ["fractions without a zero", (text) => text.replaceAll(/\b20\b/g, ".2e2")],
])("a text with %s says the same", async (_what, rewrite) => {
  const text = rewrite(textStl(box, "cube"));
  const { corners, format } = await read(text);
  expect(format).toBe("text");
  expect(corners).toEqual(box.corners);
});

test("a text may have several solids, also in a single line", async () => {
  const two = `${textStl(box, "one")}${textStl(ball, "two")}`;
  for (const text of [two, two.replaceAll(/\s+/g, " ")])
    expect(await cornersOf(text)).toEqual(Float32Array.of(...box.corners, ...ball.corners));
});

test("no coordinate is −0, so that equal positions have equal bits", async () => {
  const text = textStl(box, "cube").replaceAll(/\b0\b/g, "-0");
  const binary = changed((view) => view.setFloat32(84 + 12, -0, true));
  for (const content of [text, binary])
    expect((await cornersOf(content)).some((coordinate) => Object.is(coordinate, -0))).toBe(false);
});

test.each<[string, string | Uint8Array<ArrayBuffer>]>([
  ["truncated", ""],
  ["truncated", "STL"],
  ["truncated", "solid cube"],
  ["truncated", "solid\n facet normal 0 0 1"],
  ["truncated", textStl(box, "cube").replace("endsolid cube", "")],
  ["truncated", new Uint8Array(83)],
  ["truncated", binaryStl(box, "cube").slice(0, -1)],
  ["truncated", binaryStl(box, "cube").slice(0, 84)],
  ["truncated", changed((view) => view.setUint32(80, 13, true))],
  ["surplus", changed((view) => view.setUint32(80, 11, true))],
  ["surplus", new Uint8Array([...binaryStl(box, "cube"), 0])],
  ["empty", "solid nothing\nendsolid nothing\n"],
  ["empty", new Uint8Array(84)],
  ["too_many_triangles", changed((view) => view.setUint32(80, 0xffff_ffff, true))],
  ["too_many_triangles", changed((view) => view.setUint32(80, 1_000_001, true))],
  ["not_finite", changed((view) => view.setFloat32(84 + 12, Number.NaN, true))],
  ["not_finite", changed((view) => view.setFloat32(84 + 44, Number.NEGATIVE_INFINITY, true))],
  ["not_finite", textStl(box, "cube").replace("vertex 0", "vertex NaN")],
  ["not_finite", textStl(box, "cube").replace("vertex 0", "vertex -inf")],
  ["not_finite", textStl(box, "cube").replace("vertex 0", "vertex 1e39")],
  ["syntax", textStl(box, "cube").replace("vertex 0", "vertex 0x10")],
  ["syntax", textStl(box, "cube").replace("vertex 0", "vertex 1,5")],
  ["syntax", textStl(box, "cube").replace("normal 0", "normal up")],
  ["syntax", textStl(box, "cube").replace("outer loop", "loop")],
  ["syntax", textStl(box, "cube").replace("solid cube\n", "solid cube\nof mine\n")],
  ["syntax", textStl(box, "cube").replace("solid cube", "solidcube")],
  ["syntax", textStl(box, "cube").replace("endfacet", "")],
  ["syntax", `${textStl(box, "cube")}more\n`],
  ["syntax", textStl(box, "cube").replace("vertex 0", `vertex ${"0".repeat(2000)}`)],
])("%s: such a file is refused (%#)", async (code, content) => {
  expect(await problemOf(content)).toBe(code);
});

test("a refusal tells the line or the triangle, what was expected, and nothing of the file", async () => {
  const text = textStl(box, "cube").replace("endloop", "SECRET-WORD");
  await expect(read(text)).rejects.toThrow(/^line 7: expected "endloop"$/);
  await expect(read(text.replaceAll("\n", "\r\n"))).rejects.toThrow(/^line 7: expected "endloop"$/);
  const broken = changed((view) => view.setFloat32(84 + 50 + 12, Number.NaN, true));
  await expect(read(broken)).rejects.toThrow(/^triangle 1: a coordinate is not finite$/);
});

test("a file of as many triangles as allowed is read, and one more is refused, in both forms", async () => {
  for (const content of [binaryStl(box, "cube"), textStl(box, "cube")]) {
    expect(await problemOf(content, 12)).toBe("none");
    expect(await problemOf(content, 11)).toBe("too_many_triangles");
  }
  await expect(read("", 0)).rejects.toThrow(RangeError);
  await expect(read("", 2_000_001)).rejects.toThrow(RangeError);
});

test("a count that is too large is refused before anything after the header is read", async () => {
  let pieces = 0;
  function* endless(): Generator<Uint8Array> {
    for (;;) {
      pieces += 1;
      yield new Uint8Array(84).fill(0xff); // the header, and then more of the same without an end
    }
  }
  expect(await readStl(endless()).catch((error: unknown) => error)).toMatchObject({
    code: "too_many_triangles",
  });
  expect(pieces).toBe(1);
});

test("a word that does not end is refused before its end, however it comes", async () => {
  let pieces = 0;
  function* longWord(): Generator<Uint8Array> {
    yield bytesOf(`solid${" ".repeat(100)}`);
    for (; pieces < 1000; pieces += 1) yield new Uint8Array(100).fill(0x30);
  }
  expect(await readStl(longWord()).catch((error: unknown) => error)).toMatchObject({ code: "syntax" });
  expect(pieces).toBeLessThan(15);
});

test("memory follows what arrives and not what a header announces", () => {
  const buffer = createTriangleBuffer();
  const small = buffer.capacity;
  for (let coordinate = 0; coordinate < 9 * 1000; coordinate += 1) buffer.append(coordinate);
  expect(buffer.count).toBe(1000);
  expect(small).toBeLessThan(1000);
  expect(buffer.capacity).toBeLessThan(2 * 9 * 1000 + small);
});

test("random bytes end in the reader's own error, or in a mesh", async () => {
  const start = fc.constantFrom(
    "",
    "solid",
    "solid x\n",
    "solid x\nfacet normal 0 0 1\n",
    " SOLID facet normal ",
  );
  await fc.assert(
    fc.asyncProperty(start, fc.uint8Array({ maxLength: 400 }), async (text, tail) => {
      await problemOf(new Uint8Array([...bytesOf(text), ...tail]));
    }),
    { numRuns: 500 },
  );
});

test("random words of the format end in the reader's own error, or in a mesh", async () => {
  const word = fc.constantFrom(
    "solid",
    "facet",
    "normal",
    "0",
    "1e3",
    "outer",
    "loop",
    "vertex",
    "endloop",
    "endfacet",
    "endsolid",
    "\n",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 60 }), async (words) => {
      await problemOf(`solid ${words.join(" ")}`);
    }),
    { numRuns: 500 },
  );
});

test("a file that is cut, or has a flipped bit, ends in the reader's own error or in a mesh of finite numbers", async () => {
  const files = [binaryStl(ball, "ball"), bytesOf(textStl(ball, "ball"))];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...files),
      fc.nat(),
      fc.nat(),
      fc.boolean(),
      async (file, at, bit, cut) => {
        const bytes = file.slice(0, cut ? at % file.length : file.length);
        const place = at % Math.max(1, bytes.length);
        if (!cut) bytes[place] = (bytes[place] ?? 0) ^ (1 << (bit % 8));
        if ((await problemOf(bytes)) === "none")
          expect((await cornersOf(bytes)).every((coordinate) => Number.isFinite(coordinate))).toBe(true);
        else if (cut) expect(["truncated", "syntax", "empty"]).toContain(await problemOf(bytes));
      },
    ),
    { numRuns: 300 },
  );
});
