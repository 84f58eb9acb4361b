import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { root } from "../../../tests/support/repository-files.ts";
import { buildMesh, type Mesh, turnMesh } from "../mesh/build-mesh.ts";
import { checkMesh } from "../mesh/check-mesh.ts";
import { measureMesh } from "../mesh/measure-mesh.ts";
import { brokenCube, cube, touchingCubes } from "../shapes/cube.ts";
import { examplePictures } from "../shapes/example-pictures.ts";
import { rotated } from "../shapes/rotated.ts";
import { sphere } from "../shapes/sphere.ts";
import { torus } from "../shapes/torus.ts";
import type { Triangles } from "../stl/triangle-buffer.ts";
import { drawLayer } from "./draw-layer.ts";
import type { Layer, Point2 } from "./layer.ts";
import { readDrawing } from "./read-drawing.ts";
import { SliceError } from "./slice-error.ts";
import { type SliceOptions, sliceMesh } from "./slice-mesh.ts";

const slice = (shape: Triangles | Mesh, options: SliceOptions): Layer[] => [
  ...sliceMesh("corners" in shape && "sides" in shape ? shape : buildMesh(shape), options),
];
const volumeOf = (layers: readonly Layer[], layerHeight: number): number =>
  layers.reduce((sum, { area }) => sum + area * layerHeight, 0);
const angles = fc.array(fc.double({ min: -7, max: 7, noNaN: true }), { minLength: 3, maxLength: 3 });

/** By the shoelace formula, here once more and differently: positive around material, negative around a hole. */
function signedArea(points: readonly Point2[]): number {
  return points.reduce((sum, [x, y], index) => {
    const [nextX, nextY] = points[(index + 1) % points.length] ?? [0, 0];
    return sum + ((nextX - x) * (nextY + y)) / -2;
  }, 0);
}

/** The triangles in another order, and each from another corner on. */
function shuffled({ count, corners }: Triangles, seed: number): Triangles {
  const order = Array.from({ length: count }, (_, triangle) => triangle).sort(
    (one, other) => ((one * 7919 + seed) % 1009) - ((other * 7919 + seed) % 1009) || one - other,
  );
  const rows = order.flatMap((triangle) => {
    const row = [...corners.subarray(9 * triangle, 9 * triangle + 9)];
    const start = 3 * ((triangle + seed) % 3);
    return [...row.slice(start), ...row.slice(0, start)];
  });
  return { count, corners: Float32Array.from(rows) };
}

test("a cube's layers are its square, in the middle of each layer, corners only", () => {
  const layers = slice(cube(20), { layerHeight: 4 });
  expect(layers.map(({ z }) => z)).toEqual([2, 6, 10, 14, 18]);
  for (const { outlines, gaps, area } of layers) {
    expect(outlines).toEqual([
      [
        [0, 0],
        [20, 0],
        [20, 20],
        [0, 20],
      ],
    ]);
    expect(gaps).toEqual([]);
    expect(area).toBe(400);
  }
});

test("a sphere's layers have the areas of its circles", () => {
  const layers = slice(sphere({ radius: 15, around: 120, up: 90 }), { layerHeight: 1 });
  expect(layers).toHaveLength(30);
  for (const { z, area, outlines } of layers) {
    expect(outlines).toHaveLength(1);
    expect(area / (Math.PI * (15 ** 2 - z ** 2))).toBeWithin(0.98, 1.0001);
  }
});

test("a lying torus' layers are rings: one outline around the material and one around the hole", () => {
  const layers = slice(torus({ radius: 28, tube: 12, around: 160, across: 120 }), { layerHeight: 1 });
  expect(layers).toHaveLength(24);
  for (const { z, area, outlines } of layers) {
    expect(outlines.map((outline) => Math.sign(signedArea(outline)))).toEqual([1, -1]);
    expect(area / (4 * Math.PI * 28 * Math.sqrt(12 ** 2 - z ** 2))).toBeWithin(0.97, 1.0001);
  }
});

test("a standing torus' layers are one outline below its hole and above, and two beside it", () => {
  const layers = slice(torus({ radius: 28, tube: 12, around: 160, across: 60, stands: true }), {
    layerHeight: 0.8,
  });
  for (const { z, outlines, gaps } of layers) {
    expect(gaps).toEqual([]);
    expect(outlines).toHaveLength(Math.abs(z) < 15.9 ? 2 : 1);
    expect(outlines.every((outline) => signedArea(outline) > 0)).toBe(true);
  }
});

test("the volume from layers approaches the volume of the mesh, however it is turned", () => {
  fc.assert(
    fc.property(angles, (turn) => {
      const mesh = buildMesh(rotated(cube(20), turn));
      expect(volumeOf(slice(mesh, { layerHeight: 0.25 }), 0.25)).toBeWithin(7990, 8010);
    }),
    { numRuns: 25 },
  );
});

test("every layer of a turned cube is at most one outline, closed and counter-clockwise", () => {
  fc.assert(
    fc.property(angles, fc.double({ min: 0.5, max: 3, noNaN: true }), (turn, layerHeight) => {
      for (const { outlines, gaps, area } of slice(rotated(cube(20), turn), { layerHeight })) {
        expect(gaps).toEqual([]);
        expect(outlines.length).toBeLessThanOrEqual(1); // the tip may be too small for the grid
        expect(area).toBeCloseTo(
          outlines.reduce((sum, outline) => sum + signedArea(outline), 0),
          6,
        );
        expect(area).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 50 },
  );
});

test("planes that meet vertices, edges and whole faces leave every outline closed", () => {
  // Rings of vertices at every quarter: half of the planes run exactly through some.
  const steps = [0, 1, 2, 3, 4, 5, 6].map((level) => level / 4);
  const surface = stairs(steps);
  expect(checkMesh(buildMesh(surface)).closed).toBe(true);
  for (const layerHeight of [0.5, 0.25, 1 / 6, 1, 2]) {
    for (const { outlines, gaps, area } of slice(surface, { layerHeight })) {
      expect(gaps).toEqual([]);
      expect(outlines).toHaveLength(1);
      expect(area).toBeGreaterThan(0);
    }
  }
});

test("a cut exactly through vertices is the one just below them", () => {
  const surface = stairs([0, 1, 2]);
  const [at] = slice(surface, { layerHeight: 2 }); // z = 1, where a step is: below it the wide one, above it the narrow one
  expect(at).toMatchObject({ z: 1, area: 16 });
});

test("a mesh in any order of triangles and corners gives the same bytes", () => {
  const shape = torus({ radius: 28, tube: 12, around: 40, across: 20, stands: true });
  const { bounds } = measureMesh(buildMesh(shape));
  const draw = (of: Triangles) => slice(of, { layerHeight: 1.3 }).map((layer) => drawLayer(layer, bounds));
  const drawn = draw(shape);
  for (const seed of [1, 2, 500]) expect(draw(shuffled(shape, seed))).toEqual(drawn);
});

test("layers from the middle on are those of a whole run", () => {
  const ball = sphere({ radius: 15, around: 30, up: 20 });
  const all = slice(ball, { layerHeight: 0.7 });
  for (const from of [0, 1, 20, all.length - 1, all.length])
    expect(slice(ball, { layerHeight: 0.7, from })).toEqual(all.slice(from));
});

test("an inside-out cube has clockwise outlines, and turned the right ones", () => {
  const inside = turnMesh(buildMesh(cube(20)));
  expect(slice(inside, { layerHeight: 4 }).map(({ area }) => area)).toEqual([-400, -400, -400, -400, -400]);
  expect(slice(turnMesh(inside), { layerHeight: 4 })).toEqual(slice(cube(20), { layerHeight: 4 }));
});

test("two cubes with a common edge have an outline each", () => {
  for (const { outlines, gaps, area } of slice(touchingCubes(10), { layerHeight: 1 })) {
    expect([outlines.length, gaps.length, area]).toEqual([2, 0, 200]);
  }
});

test("parts that touch keep an outline each, in whatever order their triangles come", () => {
  for (const seed of [0, 1, 2, 5, 500])
    expect(slice(shuffled(touchingCubes(10), seed), { layerHeight: 3 })).toEqual(
      slice(touchingCubes(10), { layerHeight: 3 }),
    );
});

test("a triangle with two equal corners changes no layer", () => {
  const { count, corners } = cube(20);
  const line = [0, 0, 0, 0, 0, 20, 0, 0, 20]; // from below to above, along an edge
  const withLine = { count: count + 1, corners: Float32Array.of(...line, ...corners) };
  expect(slice(withLine, { layerHeight: 4 })).toEqual(slice(cube(20), { layerHeight: 4 }));
});

test("a tip that is thinner than the grid has no outline, and every other has three points or more", () => {
  const [a, b, c, tip] = [
    [0, 0, 0],
    [0.001, 0, 0],
    [0, 0.001, 0],
    [0, 0, 10],
  ];
  const faces = [a, c, b, a, b, tip, b, c, tip, c, a, tip].flatMap((corner) => corner ?? []);
  const layers = slice({ count: 4, corners: Float32Array.from(faces) }, { layerHeight: 0.25 });
  const counts = layers.flatMap(({ outlines }) => outlines.map((outline) => outline.length));
  expect(Math.min(...counts)).toBe(3);
  expect(layers[0]?.outlines).toHaveLength(1);
  expect(layers.at(-1)).toMatchObject({ outlines: [], gaps: [], area: 0 });
});

test("where the surface is broken, paths stay open, count for no area, and are told apart", () => {
  for (const { outlines, gaps, area } of slice(brokenCube(20), { layerHeight: 5 })) {
    expect([outlines.length, area]).toEqual([0, 0]);
    expect(gaps).toHaveLength(1);
  }
});

test.each([
  [cube(20), { layerHeight: 41 }, "too_flat"],
  [cube(20), { layerHeight: 0.1, maxLayers: 199 }, "too_many_layers"],
  [cube(20), { layerHeight: 1e-300 }, "too_many_layers"],
  [cube(1_000_001), { layerHeight: 100 }, "too_large"],
])("a mesh that does not fit its layers is refused: %#", (shape, options, code) => {
  try {
    slice(shape, options);
    throw new Error("expected a refusal");
  } catch (error) {
    expect(error).toBeInstanceOf(SliceError);
    expect(error).toHaveProperty("code", code);
  }
});

test("as many layers as allowed are cut", () => {
  expect(slice(cube(20), { layerHeight: 0.1, maxLayers: 200 })).toHaveLength(200);
  expect(slice(cube(20), { layerHeight: 39 })).toHaveLength(1);
});

test("a drawing is true to size, and says exactly its layer", () => {
  const broken = brokenCube(20);
  const shapes = [
    torus({ radius: 28, tube: 12, around: 60, across: 24 }),
    broken,
    rotated(cube(20), [1, 2, 3]),
  ];
  for (const shape of shapes) {
    const { bounds } = measureMesh(buildMesh(shape));
    for (const layer of slice(shape, { layerHeight: 2.1 })) {
      const { index, z, outlines, gaps } = layer;
      expect(readDrawing(drawLayer(layer, bounds))).toEqual({ index, z, outlines, gaps });
    }
  }
  const [square] = slice(cube(20), { layerHeight: 20 });
  expect(drawLayer(square!, measureMesh(buildMesh(cube(20))).bounds)).toBe(
    `<svg xmlns="http://www.w3.org/2000/svg" width="22mm" height="22mm" viewBox="-1 -21 22 22" data-layer="0" data-z="10">
<title>Layer 0, z = 10 mm</title>
<path class="material" fill="#4a8" d="M0 0L20 0 20 -20 0 -20Z"/>
</svg>
`,
  );
});

test("the pictures of the README are what is drawn today, and small", async () => {
  const pictures = Object.entries(examplePictures());
  expect(pictures).toHaveLength(2);
  for (const [name, picture] of pictures) {
    expect(await Bun.file(join(root, "docs/assets/slicer", name)).text()).toBe(picture);
    expect(picture.length).toBeLessThan(20_000);
  }
});

test("a text that is no drawing of a layer is refused", () => {
  expect(() => readDrawing("<svg/>")).toThrow("expected a layer's drawing");
  expect(() => readDrawing(`<svg data-layer="0" data-z="1"><path class="material" d="M1 2L3Z"/>`)).toThrow(
    TypeError,
  );
});

test("a hundred thousand triangles and two hundred layers need work for what is cut only", () => {
  const mesh = buildMesh(torus({ radius: 28, tube: 12, around: 400, across: 128, stands: true }));
  const layers = slice(mesh, { layerHeight: 0.4 });
  expect([mesh.triangleCount, layers.length]).toEqual([102_400, 200]);
  expect(layers.every(({ gaps }) => gaps.length === 0)).toBe(true);
  expect(volumeOf(layers, 0.4) / measureMesh(mesh).volume).toBeWithin(0.999, 1.001);
});

/** A square tower that is narrower by one step on each level; faces lie flat at every level. */
function stairs(levels: readonly number[]): Triangles {
  const corners: number[] = [];
  const quad = (...points: number[][]): void => {
    for (const corner of [0, 1, 2, 0, 2, 3]) corners.push(...(points[corner] ?? []));
  };
  const ring = (half: number, z: number): number[][] => [
    [-half, -half, z],
    [half, -half, z],
    [half, half, z],
    [-half, half, z],
  ];
  const halves = levels.map((_, level) => levels.length - 1 - level);
  const top = levels.length - 2;
  const side = (lower: number[][], upper: number[][]): void => {
    for (let k = 0; k < 4; k += 1) {
      const next = (k + 1) % 4;
      quad(lower[k] ?? [], lower[next] ?? [], upper[next] ?? [], upper[k] ?? []);
    }
  };
  quad(...ring(halves[0] ?? 0, levels[0] ?? 0).reverse());
  for (let level = 0; level <= top; level += 1) {
    const half = halves[level] ?? 0;
    const z = levels[level + 1] ?? 0;
    side(ring(half, levels[level] ?? 0), ring(half, z));
    if (level === top) quad(...ring(half, z));
    else side(ring(half, z), ring(halves[level + 1] ?? 0, z));
  }
  return { count: corners.length / 9, corners: Float32Array.from(corners) };
}
