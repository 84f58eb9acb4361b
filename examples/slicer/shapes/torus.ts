import type { Point3 } from "../mesh/measure-mesh.ts";
import type { Triangles } from "../stl/triangle-buffer.ts";
import { createSurface } from "./create-surface.ts";

/** A ring around the origin, of 2 · around · across triangles. */
export function torus(size: {
  /** From the middle of the ring to the middle of its tube. */
  readonly radius: number;
  /** Of the tube. */
  readonly tube: number;
  readonly around: number;
  readonly across: number;
  /** Whether it stands, as a wheel does. Default: it lies. */
  readonly stands?: boolean;
}): Triangles {
  const { radius, tube, around, across, stands = false } = size;
  const surface = createSurface();
  const at = (i: number, j: number): Point3 => {
    const turn = (2 * Math.PI * (i % around)) / around;
    const roll = (2 * Math.PI * (j % across)) / across;
    const ring = radius + tube * Math.cos(roll);
    const [x, y, z] = [ring * Math.cos(turn), ring * Math.sin(turn), tube * Math.sin(roll)];
    return stands ? [x, -z, y] : [x, y, z];
  };
  for (let i = 0; i < around; i += 1)
    for (let j = 0; j < across; j += 1) surface.quad(at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
  return surface.done();
}
