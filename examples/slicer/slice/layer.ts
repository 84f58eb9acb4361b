import { doubleArea, type GridPoint, STEPS } from "./trace-path.ts";

/** A point of a layer, in mm, on a grid of 0.1 µm. */
export type Point2 = readonly [x: number, y: number];

/** What a plane cuts out of a mesh. */
export interface Layer {
  /** From 0, the lowest. */
  readonly index: number;
  /** Where the plane is, in mm, rounded to 0.1 µm. */
  readonly z: number;
  /** Closed, the last point joined to the first, at least three points each. The largest first. */
  readonly outlines: readonly (readonly Point2[])[];
  /** Where the surface is broken: paths that do not close, at least two points each. They bound nothing and count for no area. */
  readonly gaps: readonly (readonly Point2[])[];
  /** Of the material, in mm². Where parts of a mesh overlap, it counts them all. */
  readonly area: number;
}

/** A layer from what was traced on the grid, in an order that depends on the points alone. */
export function layerOf(traced: {
  readonly index: number;
  readonly z: number;
  readonly outlines: readonly GridPoint[][];
  readonly gaps: readonly GridPoint[][];
}): Layer {
  const outlines = traced.outlines
    .map((points) => ({ points: fromSmallest(points), size: doubleArea(points) }))
    .sort(
      (one, other) => Math.abs(other.size) - Math.abs(one.size) || comparePaths(one.points, other.points),
    );
  const total = outlines.reduce((sum, { size }) => sum + size, 0);
  return {
    index: traced.index,
    z: Math.round(traced.z * STEPS) / STEPS + 0,
    outlines: outlines.map(({ points }) => points.map(inMillimetres)),
    gaps: [...traced.gaps].sort(comparePaths).map((points) => points.map(inMillimetres)),
    area: total / 2 / STEPS / STEPS,
  };
}

function inMillimetres([x, y]: GridPoint): Point2 {
  return [x / STEPS, y / STEPS];
}

/** A closed path from its leftmost point on, the lowest of those. */
function fromSmallest(points: readonly GridPoint[]): GridPoint[] {
  let smallest = 0;
  for (const [index, point] of points.entries())
    if (comparePoints(point, points[smallest] as GridPoint) < 0) smallest = index;
  return [...points.slice(smallest), ...points.slice(0, smallest)];
}

function comparePaths(one: readonly GridPoint[], other: readonly GridPoint[]): number {
  for (const [index, point] of one.entries()) {
    const counterpart = other[index];
    if (counterpart === undefined) return 1;
    const order = comparePoints(point, counterpart);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

function comparePoints(one: GridPoint, other: GridPoint): number {
  return one[0] - other[0] || one[1] - other[1];
}
