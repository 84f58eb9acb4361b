import { cornerOf, type Mesh, NO_EDGE, positionOf } from "./build-mesh.ts";
import type { Point3 } from "./measure-mesh.ts";

/** Most offenders of a kind that are named. */
export const OFFENDER_LIMIT = 10;

/** An edge that is wrong. */
export interface WrongEdge {
  readonly from: Point3;
  readonly to: Point3;
  /** Numbers of triangles that have it, from 0 in the order of the file; the first {@link OFFENDER_LIMIT}. */
  readonly triangles: readonly number[];
}

/** How many of a kind there are, and the first of them. */
export interface Findings<Offender> {
  readonly count: number;
  readonly first: readonly Offender[];
}

/** What was found in a mesh. */
export interface MeshCheck {
  readonly triangles: number;
  readonly vertices: number;
  readonly edges: number;
  /** Whether it bounds a body: every edge is used exactly twice, in opposite directions. */
  readonly closed: boolean;
  /** Edges that only one triangle has: the rim of a hole. */
  readonly openEdges: Findings<WrongEdge>;
  /** Edges that two triangles have in the same direction: one of them is flipped. */
  readonly flippedEdges: Findings<WrongEdge>;
  /** Edges that more than two triangles have. */
  readonly nonManifoldEdges: Findings<WrongEdge>;
  /** Triangles without an area. One with two equal corners has no edges; any other counts for its edges. */
  readonly degenerateTriangles: Findings<number>;
}

/** Looks at every edge and every triangle of a mesh. */
export function checkMesh(mesh: Mesh): MeshCheck {
  const uses = new Uint32Array(mesh.edgeCount);
  /** Uses from the smaller vertex number to the larger one. */
  const forward = new Uint32Array(mesh.edgeCount);
  eachSide(mesh, (edge, _triangle, isForward) => {
    uses[edge] = (uses[edge] as number) + 1;
    if (isForward) forward[edge] = (forward[edge] as number) + 1;
  });
  const find = (isWrong: (uses: number, forward: number) => boolean): Findings<WrongEdge> =>
    findEdges(mesh, (edge) => isWrong(uses[edge] as number, forward[edge] as number));
  const openEdges = find((all) => all === 1);
  const flippedEdges = find((all, ahead) => all === 2 && ahead !== 1);
  const nonManifoldEdges = find((all) => all > 2);
  return {
    triangles: mesh.triangleCount,
    vertices: mesh.vertexCount,
    edges: mesh.edgeCount,
    closed: mesh.edgeCount > 0 && openEdges.count + flippedEdges.count + nonManifoldEdges.count === 0,
    openEdges,
    flippedEdges,
    nonManifoldEdges,
    degenerateTriangles: findDegenerate(mesh),
  };
}

function eachSide(mesh: Mesh, visit: (edge: number, triangle: number, isForward: boolean) => void): void {
  for (let side = 0; side < mesh.sides.length; side += 1) {
    const edge = mesh.sides[side] as number;
    if (edge === NO_EDGE) continue;
    const triangle = Math.floor(side / 3);
    const corner = side - 3 * triangle;
    visit(edge, triangle, cornerOf(mesh, triangle, corner) < cornerOf(mesh, triangle, corner + 1));
  }
}

function findEdges(mesh: Mesh, isWrong: (edge: number) => boolean): Findings<WrongEdge> {
  const trianglesOf = new Map<number, number[]>();
  let count = 0;
  for (let edge = 0; edge < mesh.edgeCount; edge += 1) {
    if (!isWrong(edge)) continue;
    count += 1;
    if (count <= OFFENDER_LIMIT) trianglesOf.set(edge, []);
  }
  if (count > 0)
    eachSide(mesh, (edge, triangle) => {
      const triangles = trianglesOf.get(edge);
      if (triangles !== undefined && triangles.length < OFFENDER_LIMIT) triangles.push(triangle);
    });
  const first = Array.from(trianglesOf, ([edge, triangles]) => ({
    from: positionOf(mesh, mesh.edgeEnds[2 * edge] as number),
    to: positionOf(mesh, mesh.edgeEnds[2 * edge + 1] as number),
    triangles,
  }));
  return { count, first };
}

function findDegenerate(mesh: Mesh): Findings<number> {
  const first: number[] = [];
  let count = 0;
  for (let triangle = 0; triangle < mesh.triangleCount; triangle += 1) {
    if (!isDegenerate(mesh, triangle)) continue;
    count += 1;
    if (first.length < OFFENDER_LIMIT) first.push(triangle);
  }
  return { count, first };
}

function isDegenerate(mesh: Mesh, triangle: number): boolean {
  if (mesh.sides[3 * triangle] === NO_EDGE) return true;
  const [ax, ay, az] = positionOf(mesh, cornerOf(mesh, triangle, 0));
  const [bx, by, bz] = positionOf(mesh, cornerOf(mesh, triangle, 1));
  const [cx, cy, cz] = positionOf(mesh, cornerOf(mesh, triangle, 2));
  return (
    (by - ay) * (cz - az) === (bz - az) * (cy - ay) &&
    (bz - az) * (cx - ax) === (bx - ax) * (cz - az) &&
    (bx - ax) * (cy - ay) === (by - ay) * (cx - ax)
  );
}
