import type { Bounds } from "../mesh/measure-mesh.ts";
import { SliceError } from "./slice-error.ts";

/** Furthest coordinate, in mm. */
export const REACH_LIMIT = 1_000_000;

/**
 * How many layers a mesh has: those whose height is below its top. Layer i is at the lowest point plus (i + 1/2) · layerHeight.
 *
 * @param layerHeight in mm, more than 0
 * @throws SliceError for none, for more than `maxLayers`, or for a mesh that reaches further than 1 km
 */
export function countLayers({ minimum, maximum }: Bounds, layerHeight: number, maxLayers: number): number {
  const reach = Math.max(...[...minimum, ...maximum].map(Math.abs));
  if (reach > REACH_LIMIT)
    throw new SliceError(
      "too_large",
      `the mesh reaches ${reach} mm, allowed is ${REACH_LIMIT}: is the unit right?`,
    );
  const [low, high] = [minimum[2], maximum[2]];
  let count = Math.min(maxLayers + 1, Math.max(0, Math.ceil((high - low) / layerHeight - 0.5)));
  // By the heights themselves, whatever the division rounded.
  while (count > 0 && heightOfLayer(low, layerHeight, count - 1) >= high) count -= 1;
  while (heightOfLayer(low, layerHeight, count) < high && count <= maxLayers) count += 1;
  if (count === 0)
    throw new SliceError(
      "too_flat",
      `the mesh is ${high - low} mm high and a layer ${layerHeight}: is the unit right?`,
    );
  if (count > maxLayers)
    throw new SliceError(
      "too_many_layers",
      `the mesh is ${high - low} mm high, so it has more than ${maxLayers} layers of ${layerHeight}: make layers thicker, or raise the limit`,
    );
  return count;
}

/** Where a layer cuts, in mm. */
export function heightOfLayer(low: number, layerHeight: number, index: number): number {
  return low + (index + 0.5) * layerHeight;
}
