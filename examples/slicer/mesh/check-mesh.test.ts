import { expect, test } from "bun:test";
import { brokenCube, cube, touchingCubes } from "../shapes/cube.ts";
import { sphere } from "../shapes/sphere.ts";
import { torus } from "../shapes/torus.ts";
import type { Triangles } from "../stl/triangle-buffer.ts";
import { buildMesh, turnMesh } from "./build-mesh.ts";
import { checkMesh } from "./check-mesh.ts";

const none = { count: 0, first: [] };
const trianglesOf = (...corners: number[]): Triangles => ({
  count: corners.length / 9,
  corners: Float32Array.from(corners),
});
const check = (triangles: Triangles) => checkMesh(buildMesh(triangles));

test("a cube is closed, and its corners and sides are joined", () => {
  expect(check(cube(20))).toEqual({
    triangles: 12,
    vertices: 8,
    edges: 18,
    closed: true,
    openEdges: none,
    flippedEdges: none,
    nonManifoldEdges: none,
    degenerateTriangles: none,
  });
});

test("vertices, edges and triangles of a closed mesh agree with Euler: 2 for a sphere, 0 for a torus", () => {
  const ball = check(sphere({ radius: 15, around: 24, up: 12 }));
  const ring = check(torus({ radius: 28, tube: 12, around: 30, across: 16 }));
  expect([ball.closed, ball.vertices - ball.edges + ball.triangles]).toEqual([true, 2]);
  expect([ring.closed, ring.vertices - ring.edges + ring.triangles]).toEqual([true, 0]);
});

test("a hole and a flipped triangle are found, with the triangles at them", () => {
  const found = check(brokenCube(20));
  expect(found.closed).toBe(false);
  expect(found.openEdges.count).toBe(3);
  expect(found.flippedEdges.count).toBe(3);
  expect(found.flippedEdges.first.every(({ triangles }) => triangles.includes(0))).toBe(true);
  expect(found.openEdges.first).toContainEqual({ from: [0, 20, 0], to: [0, 20, 20], triangles: [8] });
  expect(found.nonManifoldEdges).toEqual(none);
});

test("an edge of four triangles is found, with all of them", () => {
  const found = check(touchingCubes(10));
  expect(found.closed).toBe(false);
  expect(found.nonManifoldEdges).toEqual({
    count: 1,
    first: [{ from: [10, 10, 0], to: [10, 10, 10], triangles: [6, 9, 17, 22] }],
  });
});

test("triangles without an area are found: with equal corners, or with all corners on one line", () => {
  const found = check(
    trianglesOf(0, 0, 0, 1, 0, 0, 1, 0, 0, /**/ 0, 0, 0, 1, 1, 1, 2, 2, 2, /**/ 0, 0, 0, 1, 0, 0, 0, 1, 0),
  );
  expect(found.degenerateTriangles).toEqual({ count: 2, first: [0, 1] });
});

test("a triangle with two equal corners leaves a closed mesh closed", () => {
  const { count, corners } = cube(20);
  const line = corners.slice(0, 9);
  line.set(line.subarray(0, 3), 3);
  const found = check({ count: count + 1, corners: Float32Array.of(...corners, ...line) });
  expect(found).toMatchObject({ closed: true, edges: 18, degenerateTriangles: { count: 1, first: [12] } });
});

test("at most ten offenders of a kind are named, and all are counted", () => {
  const loose = Array.from({ length: 20 }, (_, n) => [n, 0, 0, n, 1, 0, n, 0, 1]).flat();
  const found = check(trianglesOf(...loose));
  expect([found.openEdges.count, found.openEdges.first.length]).toEqual([60, 10]);
  expect(found.openEdges.first.map(({ triangles }) => triangles[0])).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2, 3]);
});

test("vertices are joined at exactly the same position only", () => {
  const near = cube(20);
  near.corners[0] = Math.fround(1e-30);
  expect(check(near).openEdges.count).toBeGreaterThan(0);
});

test("a mesh that is turned is closed as before", () => {
  expect(checkMesh(turnMesh(buildMesh(cube(20))))).toMatchObject({ closed: true, edges: 18 });
});
