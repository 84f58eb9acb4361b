import type { Point3 } from "../mesh/measure-mesh.ts";
import { createTriangleBuffer, type Triangles } from "../stl/triangle-buffer.ts";

/** Puts a surface together. Coordinates are rounded to 0.1 µm, so that a last bit of a sine that differs between machines changes nothing. */
export interface Surface {
  /** Corners counter-clockwise, seen from outside. */
  readonly triangle: (a: Point3, b: Point3, c: Point3) => void;
  /** Two triangles; corners counter-clockwise, seen from outside. */
  readonly quad: (a: Point3, b: Point3, c: Point3, d: Point3) => void;
  /** What was put together. */
  readonly done: () => Triangles;
}

/** An empty surface. */
export function createSurface(): Surface {
  const buffer = createTriangleBuffer();
  const triangle: Surface["triangle"] = (...corners) => {
    for (const coordinate of corners.flat()) buffer.append(Math.round(coordinate * 10_000) / 10_000);
  };
  return {
    triangle,
    quad(a, b, c, d) {
      triangle(a, b, c);
      triangle(a, c, d);
    },
    done: buffer.triangles,
  };
}
