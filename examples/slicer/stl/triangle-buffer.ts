import { StlError } from "./stl-error.ts";

/** Triangles as a file has them: each with its own three corners, in the file's unit. */
export interface Triangles {
  readonly count: number;
  /** Nine numbers a triangle: x, y, z of each corner, counter-clockwise seen from outside. Finite, and never −0. */
  readonly corners: Float32Array;
}

/** Collects coordinates. It grows with what arrives, whatever a file announces. */
export interface TriangleBuffer {
  /** Triangles that are complete. */
  readonly count: number;
  /** Coordinates that fit without growing. */
  readonly capacity: number;
  /** Adds the next coordinate. @throws StlError `not_finite` */
  readonly append: (coordinate: number) => void;
  /** What was collected. Nothing may be appended afterwards. */
  readonly triangles: () => Triangles;
}

/** An empty buffer. */
export function createTriangleBuffer(): TriangleBuffer {
  let corners = new Float32Array(9 * 64);
  let length = 0;
  return {
    get count() {
      return Math.floor(length / 9);
    },
    get capacity() {
      return corners.length;
    },
    append(coordinate) {
      const rounded = Math.fround(coordinate) + 0; // −0 becomes 0, so that equal positions have equal bits
      if (!Number.isFinite(rounded))
        throw new StlError("not_finite", `triangle ${Math.floor(length / 9)}: a coordinate is not finite`);
      if (length === corners.length) {
        const larger = new Float32Array(2 * corners.length);
        larger.set(corners);
        corners = larger;
      }
      corners[length] = rounded;
      length += 1;
    },
    triangles: () => ({ count: Math.floor(length / 9), corners: corners.subarray(0, length) }),
  };
}
