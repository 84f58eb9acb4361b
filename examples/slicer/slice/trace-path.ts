import { heightOf, type Mesh } from "../mesh/build-mesh.ts";

/** Steps of a layer's coordinates in a millimetre. What is computed of a layer is computed of what will be written. */
export const STEPS = 10_000;

/** A point of a layer, in whole steps. Within 6 m of the origin, areas of such points are exact. */
export type GridPoint = readonly [x: number, y: number];

/** Where a path of edges runs at a height, rounded to steps, without points that change nothing. Empty when nothing is left. */
export function tracePath(mesh: Mesh, path: readonly number[], z: number, isClosed: boolean): GridPoint[] {
  const points: GridPoint[] = [];
  for (const edge of path) {
    points.push(crossing(mesh, edge, z));
    while (points.length >= 3 && isStraight(points.at(-3), points.at(-2), points.at(-1)))
      points.splice(-2, 1);
    if (points.length === 2 && isSame(points[0], points[1])) points.pop();
  }
  if (!isClosed) return points.length < 2 ? [] : points;
  while (points.length >= 3) {
    if (isStraight(points.at(-2), points.at(-1), points[0])) points.pop();
    else if (isStraight(points.at(-1), points[0], points[1])) points.shift();
    else break;
  }
  return points.length < 3 ? [] : points;
}

/** Twice the area that a closed path has on its left, in square steps. */
export function doubleArea(points: readonly GridPoint[]): number {
  const [originX, originY] = points[0] ?? [0, 0];
  let sum = 0;
  for (const [index, [x, y]] of points.entries()) {
    const [nextX, nextY] = points[(index + 1) % points.length] as GridPoint;
    sum += (x - originX) * (nextY - originY) - (nextX - originX) * (y - originY);
  }
  return sum;
}

/** Always from the lower end to the upper one, so that the point does not depend on how vertices are numbered. */
function crossing(mesh: Mesh, edge: number, z: number): GridPoint {
  const one = mesh.edgeEnds[2 * edge] as number;
  const other = mesh.edgeEnds[2 * edge + 1] as number;
  const [lower, upper] = heightOf(mesh, one) < z ? [one, other] : [other, one];
  const share = (z - heightOf(mesh, lower)) / (heightOf(mesh, upper) - heightOf(mesh, lower));
  return [between(mesh, lower, upper, share, 0), between(mesh, lower, upper, share, 1)];
}

function between({ vertices }: Mesh, from: number, to: number, share: number, axis: 0 | 1): number {
  const start = vertices[3 * from + axis] as number;
  const end = vertices[3 * to + axis] as number;
  return Math.round((start * (1 - share) + end * share) * STEPS) + 0; // no −0
}

function isSame(one: GridPoint | undefined, other: GridPoint | undefined): boolean {
  return one?.[0] === other?.[0] && one?.[1] === other?.[1];
}

/** Whether the middle point can go without changing the area. That it turns back on itself, or repeats a neighbour, is such a case too. */
function isStraight(a: GridPoint | undefined, b: GridPoint | undefined, c: GridPoint | undefined): boolean {
  if (a === undefined || b === undefined || c === undefined) return false;
  return (b[0] - a[0]) * (c[1] - a[1]) === (c[0] - a[0]) * (b[1] - a[1]);
}
