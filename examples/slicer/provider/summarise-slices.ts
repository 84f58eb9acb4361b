import type { LayerRow } from "./layer-checkpoint.ts";
import type { PreparedMesh } from "./prepare-mesh.ts";
import type { Model } from "./read-model.ts";
import type { SlicerResult } from "./slicer-result.ts";
import type { SlicerSettings } from "./slicer-settings.ts";

/** Everything about a sliced model, as JSON text, and the part of it that is the job's result. The same for the same model and settings. */
export function summariseSlices(
  model: Pick<Model, "digest" | "format">,
  { check, measures, turned }: PreparedMesh,
  settings: Pick<SlicerSettings, "layerHeight" | "unit">,
  rows: readonly LayerRow[],
): { readonly result: SlicerResult; readonly summary: string } {
  const sum = (of: (row: LayerRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const { digest, format } = model;
  const { bounds, volume, area } = measures;
  const volumeFromLayers = sum((row) => row.area) * settings.layerHeight;
  const result: SlicerResult = {
    model: { digest, format },
    mesh: {
      triangles: check.triangles,
      vertices: check.vertices,
      closed: check.closed,
      openEdges: check.openEdges.count,
      flippedEdges: check.flippedEdges.count,
      nonManifoldEdges: check.nonManifoldEdges.count,
      degenerateTriangles: check.degenerateTriangles.count,
      turned,
    },
    bounds,
    volume,
    volumeFromLayers,
    area,
    layers: rows.length,
    outlines: sum(({ outlines }) => outlines),
    gaps: sum(({ gaps }) => gaps),
  };
  const { layerHeight, unit } = settings;
  const summary = {
    model: { digest, format, unit },
    mesh: { ...check, turned },
    bounds,
    volume,
    volumeFromLayers,
    area,
    layerHeight,
    layers: rows,
  };
  return { result, summary: `${JSON.stringify(summary, undefined, 2)}\n` };
}
