import type { Point3 } from "../mesh/measure-mesh.ts";
import type { Triangles } from "../stl/triangle-buffer.ts";
import { createSurface, type Surface } from "./create-surface.ts";

/** A cube of twelve triangles with one corner at the origin. */
export function cube(size: number): Triangles {
  const surface = createSurface();
  addCube(surface, size);
  return surface.done();
}

/** Two cubes that have one edge in common, which four triangles use. */
export function touchingCubes(size: number): Triangles {
  const surface = createSurface();
  addCube(surface, size);
  addCube(surface, size, [size, size, 0]);
  return surface.done();
}

/** A cube with its last triangle missing and its first one flipped. */
export function brokenCube(size: number): Triangles {
  const { count, corners } = cube(size);
  const broken = corners.slice(0, -9);
  broken.set(corners.subarray(3, 6), 6);
  broken.set(corners.subarray(6, 9), 3);
  return { count: count - 1, corners: broken };
}

function addCube(surface: Surface, size: number, [x, y, z]: Point3 = [0, 0, 0]): void {
  const at = (i: number, j: number, k: number): Point3 => [x + i * size, y + j * size, z + k * size];
  surface.quad(at(0, 0, 0), at(0, 1, 0), at(1, 1, 0), at(1, 0, 0)); // below
  surface.quad(at(0, 0, 1), at(1, 0, 1), at(1, 1, 1), at(0, 1, 1)); // above
  surface.quad(at(0, 0, 0), at(1, 0, 0), at(1, 0, 1), at(0, 0, 1)); // in front
  surface.quad(at(1, 0, 0), at(1, 1, 0), at(1, 1, 1), at(1, 0, 1)); // on the right
  surface.quad(at(1, 1, 0), at(0, 1, 0), at(0, 1, 1), at(1, 1, 1)); // behind
  surface.quad(at(0, 1, 0), at(0, 0, 0), at(0, 0, 1), at(0, 1, 1)); // on the left
}
