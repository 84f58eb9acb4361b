import { expect, test } from "bun:test";
import fc from "fast-check";
import { cube } from "../shapes/cube.ts";
import { rotated } from "../shapes/rotated.ts";
import { sphere } from "../shapes/sphere.ts";
import { torus } from "../shapes/torus.ts";
import { buildMesh, turnMesh } from "./build-mesh.ts";
import { measureMesh } from "./measure-mesh.ts";

const share = (value: number, of: number): number => value / of;

test("a cube's volume, surface and bounds", () => {
  const { volume, area, bounds } = measureMesh(buildMesh(cube(20)));
  expect(volume).toBeCloseTo(8000, 9);
  expect(area).toBeCloseTo(2400, 9);
  expect(bounds).toEqual({ minimum: [0, 0, 0], maximum: [20, 20, 20] });
});

test("a sphere's and a torus' volume and surface are those of the formulas, less what flat triangles cut off", () => {
  const ball = measureMesh(buildMesh(sphere({ radius: 15, around: 96, up: 48 })));
  expect(share(ball.volume, (4 / 3) * Math.PI * 15 ** 3)).toBeWithin(0.997, 1);
  expect(share(ball.area, 4 * Math.PI * 15 ** 2)).toBeWithin(0.998, 1);
  for (const stands of [false, true]) {
    const ring = measureMesh(buildMesh(torus({ radius: 28, tube: 12, around: 96, across: 48, stands })));
    expect(share(ring.volume, 2 * Math.PI ** 2 * 28 * 12 ** 2)).toBeWithin(0.995, 1);
    expect(share(ring.area, 4 * Math.PI ** 2 * 28 * 12)).toBeWithin(0.997, 1);
  }
});

test("a cube keeps its volume and surface however it is turned", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -7, max: 7, noNaN: true }), { minLength: 3, maxLength: 3 }),
      (angles) => {
        const { volume, area } = measureMesh(buildMesh(rotated(cube(20), angles)));
        expect(volume).toBeWithin(7999.9, 8000.1);
        expect(area).toBeWithin(2399.9, 2400.1);
      },
    ),
    { numRuns: 50 },
  );
});

test("far from the origin the volume stays exact as far as the coordinates are", () => {
  const far = cube(20);
  for (let at = 0; at < far.corners.length; at += 1) far.corners[at] = (far.corners[at] ?? 0) + 2 ** 20;
  expect(measureMesh(buildMesh(far)).volume).toBeCloseTo(8000, 6);
});

test("a unit other than the millimetre scales lengths, surface and volume", () => {
  const { volume, area, bounds } = measureMesh(buildMesh(cube(2), 25.4));
  expect(bounds.maximum).toEqual([50.8, 50.8, 50.8]);
  expect(area).toBeCloseTo(6 * 50.8 ** 2, 6);
  expect(volume).toBeCloseTo(50.8 ** 3, 6);
});

test("a mesh that is inside out has a negative volume, and turned the same positive one", () => {
  const inside = turnMesh(buildMesh(cube(20)));
  expect(measureMesh(inside).volume).toBeCloseTo(-8000, 9);
  expect(measureMesh(turnMesh(inside)).volume).toBeCloseTo(8000, 9);
});
