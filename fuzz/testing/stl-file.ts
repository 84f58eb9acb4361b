import * as fc from "fast-check";
import { cube } from "../../examples/slicer/shapes/cube.ts";
import { binaryStl, textStl } from "../../examples/slicer/shapes/write-stl.ts";
import { readStl } from "../../examples/slicer/stl/read-stl.ts";
import { StlError } from "../../examples/slicer/stl/stl-error.ts";
import type { FuzzTarget } from "./fuzz-target.ts";

const shape = cube(20);
const binary = binaryStl(shape, "cube");
const text = new TextEncoder().encode(textStl(shape, "cube"));

interface Damage {
  readonly at: number;
  readonly remove: number;
  readonly put: Uint8Array;
}

const damages: fc.Arbitrary<readonly Damage[]> = fc.array(
  fc.record({ at: fc.nat(4000), remove: fc.nat(60), put: fc.uint8Array({ maxLength: 12 }) }),
  { minLength: 1, maxLength: 4 },
);
/** As many bytes as before, so that what follows keeps its place. */
const overwrites: fc.Arbitrary<readonly Damage[]> = fc
  .array(fc.record({ at: fc.nat(4000), put: fc.uint8Array({ minLength: 1, maxLength: 4 }) }), {
    maxLength: 2,
  })
  .map((all) => all.map(({ at, put }) => ({ at, remove: put.length, put })));
/** One coordinate of the binary file, in its place. */
const coordinates: fc.Arbitrary<Uint8Array> = fc
  .record({
    triangle: fc.nat(shape.count - 1),
    number: fc.nat(8),
    value: fc.oneof(fc.float(), fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY)),
  })
  .map(({ triangle, number, value }) => {
    const file = Uint8Array.from(binary);
    new DataView(file.buffer).setFloat32(84 + 50 * triangle + 12 + 4 * number, value, true);
    return file;
  });
const files: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc
    .tuple(fc.constantFrom(binary, text), overwrites)
    .map(([file, all]) => all.reduce(damage, file as Uint8Array)),
  coordinates,
  fc.constantFrom("solid x\nendsolid x\n", "solid\n endsolid").map((body) => new TextEncoder().encode(body)),
  fc
    .tuple(fc.constantFrom(binary, text), damages)
    .map(([file, all]) => all.reduce(damage, file as Uint8Array)),
  fc.uint8Array({ maxLength: 400 }),
  fc.string({ maxLength: 400 }).map((body) => new TextEncoder().encode(`solid ${body}`)),
);

function damage(file: Uint8Array, { at, remove, put }: Damage): Uint8Array {
  const place = at % (file.length + 1);
  return Uint8Array.from([...file.subarray(0, place), ...put, ...file.subarray(place + remove)]);
}

/** Models of the slicer, damaged, cut and made of nothing. */
export const stlFile: FuzzTarget = {
  name: "STL files",
  share: 2,
  leastOfThousand: {
    taken: 30,
    truncated: 40,
    surplus: 5,
    syntax: 40,
    empty: 40,
    not_finite: 20,
    too_many_triangles: 2,
  },
  property: (reach) =>
    fc.asyncProperty(files, fc.integer({ min: 1, max: 500 }), async (file, size) => {
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < file.length; at += size) pieces.push(file.subarray(at, at + size));
      try {
        const { corners, count } = await readStl(pieces, { maxTriangles: 1000 });
        if (count < 1 || count > 1000) throw new RangeError(`${count} triangles were taken`);
        if (!corners.every(Number.isFinite)) throw new RangeError("a corner that is nowhere was taken");
        reach("taken");
      } catch (error) {
        if (!(error instanceof StlError)) throw error;
        reach(error.code);
      }
    }),
};
