import type { Triangles } from "../stl/triangle-buffer.ts";
import { createKeyIndex } from "./key-index.ts";

/** Triangles that share vertices and edges, in millimetres. */
export interface Mesh {
  readonly vertexCount: number;
  /** x, y, z of each vertex. */
  readonly vertices: Float64Array;
  readonly triangleCount: number;
  /** Three vertex numbers a triangle. */
  readonly corners: Uint32Array;
  readonly edgeCount: number;
  /** Two vertex numbers an edge, the smaller one first. */
  readonly edgeEnds: Uint32Array;
  /** Three edge numbers a triangle: from each corner to the next. {@link NO_EDGE} for a triangle with two equal corners. */
  readonly sides: Uint32Array;
}

/** What a triangle with two equal corners has for its sides: it is a line, and joins nothing. */
export const NO_EDGE = 0xffff_ffff;

/**
 * Joins corners at exactly the same position to vertices, and sides between the same two vertices to edges. Numbers follow the order of the
 * triangles, so the same triangles give the same mesh.
 *
 * @param millimetres what one unit of the coordinates is
 */
export function buildMesh({ count, corners: coordinates }: Triangles, millimetres = 1): Mesh {
  const bits = new Uint32Array(coordinates.buffer, coordinates.byteOffset, 9 * count);
  const vertexIndex = createKeyIndex(3 * count);
  const corners = new Uint32Array(3 * count);
  for (let corner = 0; corner < corners.length; corner += 1) {
    const at = 3 * corner;
    corners[corner] = vertexIndex.numberOf(
      bits[at] as number,
      bits[at + 1] as number,
      bits[at + 2] as number,
    );
  }
  return {
    vertexCount: vertexIndex.count,
    vertices: Float64Array.from(
      new Float32Array(vertexIndex.keys().buffer),
      (coordinate) => coordinate * millimetres,
    ),
    triangleCount: count,
    corners,
    ...joinSides(corners),
  };
}

/** The same surface with its other side out. */
export function turnMesh(mesh: Mesh): Mesh {
  const corners = mesh.corners.slice();
  for (let at = 0; at < corners.length; at += 3) {
    corners[at + 1] = mesh.corners[at + 2] as number;
    corners[at + 2] = mesh.corners[at + 1] as number;
  }
  return { ...mesh, corners, ...joinSides(corners) };
}

/** The vertex at a corner of a triangle; corner 3 is corner 0 again. */
export function cornerOf({ corners }: Mesh, triangle: number, corner: number): number {
  return corners[3 * triangle + (corner % 3)] as number;
}

/** The height of a vertex. */
export function heightOf({ vertices }: Mesh, vertex: number): number {
  return vertices[3 * vertex + 2] as number;
}

/** Where a vertex is. */
export function positionOf({ vertices }: Mesh, vertex: number): readonly [x: number, y: number, z: number] {
  const at = 3 * vertex;
  return [vertices[at] as number, vertices[at + 1] as number, vertices[at + 2] as number];
}

function joinSides(corners: Uint32Array): Pick<Mesh, "edgeCount" | "edgeEnds" | "sides"> {
  const index = createKeyIndex(corners.length);
  const sides = new Uint32Array(corners.length).fill(NO_EDGE);
  for (let at = 0; at < corners.length; at += 3) {
    const triangle = [corners[at] as number, corners[at + 1] as number, corners[at + 2] as number] as const;
    const [a, b, c] = triangle;
    if (a === b || b === c || c === a) continue;
    sides[at] = index.numberOf(Math.min(a, b), Math.max(a, b), 0);
    sides[at + 1] = index.numberOf(Math.min(b, c), Math.max(b, c), 0);
    sides[at + 2] = index.numberOf(Math.min(c, a), Math.max(c, a), 0);
  }
  const edgeEnds = index.keys().filter((_word, position) => position % 3 !== 2);
  return { edgeCount: index.count, edgeEnds, sides };
}
