import type { Point3 } from "../mesh/measure-mesh.ts";
import type { Triangles } from "../stl/triangle-buffer.ts";
import { createSurface } from "./create-surface.ts";

/** A sphere around the origin, of 2 · around · (up − 1) triangles between its poles. Its vertices are on the sphere, so it is a little smaller. */
export function sphere(size: {
  readonly radius: number;
  readonly around: number;
  readonly up: number;
}): Triangles {
  const { radius, around, up } = size;
  const surface = createSurface();
  const at = (i: number, j: number): Point3 => {
    if (j === 0 || j === up) return [0, 0, j === 0 ? -radius : radius];
    const turn = (2 * Math.PI * (i % around)) / around;
    const rise = (Math.PI * j) / up - Math.PI / 2;
    const ring = radius * Math.cos(rise);
    return [ring * Math.cos(turn), ring * Math.sin(turn), radius * Math.sin(rise)];
  };
  for (let i = 0; i < around; i += 1) {
    surface.triangle(at(i, 0), at(i + 1, 1), at(i, 1));
    for (let j = 1; j < up - 1; j += 1) surface.quad(at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
    surface.triangle(at(i, up - 1), at(i + 1, up - 1), at(i, up));
  }
  return surface.done();
}
