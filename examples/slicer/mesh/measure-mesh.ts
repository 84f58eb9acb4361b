import { cornerOf, type Mesh, positionOf } from "./build-mesh.ts";

/** A point in space, in millimetres. */
export type Point3 = readonly [x: number, y: number, z: number];

/** The smallest box around a mesh, in millimetres. */
export interface Bounds {
  readonly minimum: Point3;
  readonly maximum: Point3;
}

/** How large a mesh is. */
export interface Measures {
  readonly bounds: Bounds;
  /** mm², of the surface. */
  readonly area: number;
  /** mm³. Negative for a mesh that is inside out; without meaning for one that is not closed. */
  readonly volume: number;
}

/** Measures a mesh of at least one triangle. */
export function measureMesh(mesh: Mesh): Measures {
  let volume = 0;
  let area = 0;
  for (let triangle = 0; triangle < mesh.triangleCount; triangle += 1) {
    const [ax, ay, az] = positionOf(mesh, cornerOf(mesh, triangle, 0));
    const [bx, by, bz] = positionOf(mesh, cornerOf(mesh, triangle, 1));
    const [cx, cy, cz] = positionOf(mesh, cornerOf(mesh, triangle, 2));
    const nx = (by - ay) * (cz - az) - (bz - az) * (cy - ay);
    const ny = (bz - az) * (cx - ax) - (bx - ax) * (cz - az);
    const nz = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
    area += Math.sqrt(nx * nx + ny * ny + nz * nz) / 2;
    volume += (ax * nx + ay * ny + az * nz) / 6;
  }
  return { bounds: boundsOf(mesh), area, volume };
}

function boundsOf({ vertices }: Mesh): Bounds {
  const low = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const high = low.map((value) => -value);
  for (let at = 0; at < vertices.length; at += 1) {
    const axis = at % 3;
    low[axis] = Math.min(low[axis] as number, vertices[at] as number);
    high[axis] = Math.max(high[axis] as number, vertices[at] as number);
  }
  const point = ([x = 0, y = 0, z = 0]: readonly number[]): Point3 => [x, y, z];
  return { minimum: point(low), maximum: point(high) };
}
