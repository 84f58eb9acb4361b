import { cornerOf, heightOf, type Mesh, NO_EDGE } from "../mesh/build-mesh.ts";
import { measureMesh } from "../mesh/measure-mesh.ts";
import { countLayers, heightOfLayer } from "./count-layers.ts";
import { type Layer, layerOf } from "./layer.ts";
import { createSegmentLinker } from "./link-segments.ts";
import { tracePath } from "./trace-path.ts";

/** How a mesh is cut. */
export interface SliceOptions {
  /** In mm, more than 0. */
  readonly layerHeight: number;
  /** Default 100 000. */
  readonly maxLayers?: number;
  /** The first layer that is wanted. It comes out the same whether or not those below it were cut. Default 0. */
  readonly from?: number;
}

/**
 * Cuts a mesh into layers, from the lowest on: layer i at the lowest point plus (i + 1/2) · layerHeight. A plane that meets a vertex is taken to
 * run just below it, so that each triangle is cut in no side or in two. Outlines of a closed mesh whose outside is out are closed and have the
 * material on their left: around it counter-clockwise, around a hole in it clockwise. The order of the triangles does not change a closed
 * mesh's layers.
 *
 * It takes time for sorting the triangles, and then for each triangle in each layer that cuts it.
 *
 * @throws SliceError as {@link countLayers}
 */
export function* sliceMesh(mesh: Mesh, options: SliceOptions): Generator<Layer, void, undefined> {
  const { layerHeight, maxLayers = 100_000, from = 0 } = options;
  const { bounds } = measureMesh(mesh);
  const count = countLayers(bounds, layerHeight, maxLayers);
  const link = createSegmentLinker(mesh.edgeCount);
  const sweep = createSweep(mesh);
  for (let index = from; index < count; index += 1) {
    const z = heightOfLayer(bounds.minimum[2], layerHeight, index);
    const starts: number[] = [];
    const ends: number[] = [];
    for (const triangle of sweep(z)) {
      starts.push(sideCut(mesh, triangle, z, "downwards"));
      ends.push(sideCut(mesh, triangle, z, "upwards"));
    }
    const { closed, open } = link(starts, ends);
    const traced = (paths: typeof open, isClosed: boolean) =>
      paths.map((path) => tracePath(mesh, path, z, isClosed)).filter((points) => points.length > 0);
    yield layerOf({ index, z, outlines: traced(closed, true), gaps: traced(open, false) });
  }
}

/** Gives the triangles that a plane cuts, in the order of their lowest points. The planes have to come from the lowest on. */
function createSweep(mesh: Mesh): (z: number) => readonly number[] {
  const low = new Float64Array(mesh.triangleCount);
  const high = new Float64Array(mesh.triangleCount);
  for (let triangle = 0; triangle < mesh.triangleCount; triangle += 1) {
    const a = heightOf(mesh, cornerOf(mesh, triangle, 0));
    const b = heightOf(mesh, cornerOf(mesh, triangle, 1));
    const c = heightOf(mesh, cornerOf(mesh, triangle, 2));
    low[triangle] = Math.min(a, b, c);
    high[triangle] = Math.max(a, b, c);
  }
  const byLow = new Uint32Array(mesh.triangleCount).map((_zero, triangle) => triangle);
  byLow.sort((one, other) => (low[one] as number) - (low[other] as number) || one - other);
  let next = 0;
  let active: number[] = [];
  return (z) => {
    active = active.filter((triangle) => (high[triangle] as number) >= z);
    for (; next < byLow.length; next += 1) {
      const triangle = byLow[next] as number;
      if ((low[triangle] as number) >= z) break;
      if ((high[triangle] as number) >= z && mesh.sides[3 * triangle] !== NO_EDGE) active.push(triangle);
    }
    return active;
  };
}

/** The one side of a cut triangle that leads through the plane in that direction, going round with the material behind. */
function sideCut(mesh: Mesh, triangle: number, z: number, direction: "upwards" | "downwards"): number {
  for (let corner = 0; corner < 3; corner += 1) {
    const isBelow = heightOf(mesh, cornerOf(mesh, triangle, corner)) < z;
    const endsBelow = heightOf(mesh, cornerOf(mesh, triangle, corner + 1)) < z;
    if (isBelow !== endsBelow && isBelow === (direction === "upwards"))
      return mesh.sides[3 * triangle + corner] as number;
  }
  throw new Error(`triangle ${triangle} is not cut at ${z}: the sweep and the plane disagree`);
}
