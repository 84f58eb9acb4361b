import type {
  JobProviderAttemptServices,
  JobProviderExecuteInput,
  JobRevision,
  JobSchema,
} from "lenso-jobs-plugin/job-provider";
import { countLayers } from "../slice/count-layers.ts";
import { DRAWING_TYPE, drawLayer } from "../slice/draw-layer.ts";
import { sliceMesh } from "../slice/slice-mesh.ts";
import {
  CHECKPOINT_PATH,
  checkpointText,
  type LayerCheckpoint,
  type LayerRow,
  readCheckpoint,
  SLICING,
} from "./layer-checkpoint.ts";
import { isModelProblem } from "./model-refused.ts";
import { type PreparedMesh, prepareMesh } from "./prepare-mesh.ts";
import { type Model, readModel } from "./read-model.ts";
import type { SlicerResult } from "./slicer-result.ts";
import type { SlicerSettings } from "./slicer-settings.ts";
import { summariseSlices } from "./summarise-slices.ts";

/** What the slicer publishes: a drawing a layer, and one summary. */
export type SlicerRole = "layer" | "summary";

type SliceInput = JobProviderExecuteInput<SlicerSettings, JobSchema<LayerCheckpoint>>;
type SliceServices = JobProviderAttemptServices<SlicerRole, JobSchema<LayerCheckpoint>>;

/** One attempt: reads, checks and slices the model. An attempt that resumes publishes the same bytes as one that did everything. */
export async function sliceJob(input: SliceInput, services: SliceServices): Promise<SlicerResult> {
  try {
    return await sliceModel(input, services);
  } catch (error) {
    // The job's outcome will not say why; whoever submitted it finds the reason here.
    if (isModelProblem(error)) await services.writeLog({ level: "error", message: error.message });
    throw error;
  }
}

/** Where a layer's drawing is: the number has six digits, so that names sort as layers do. */
export function layerPath(layer: number): string {
  return `layers/${String(layer).padStart(6, "0")}.svg`;
}

async function sliceModel(input: SliceInput, services: SliceServices): Promise<SlicerResult> {
  const settings = input.configuration;
  const model = await readModel(input.input, settings, services);
  const prepared = await prepareMesh(model, settings, services);
  const rows = await sliceLayers(input, model, prepared, services);
  const { result, summary } = summariseSlices(model, prepared, settings, rows);
  await services.workspace.write("summary.json", summary);
  await services.publishArtifact({ role: "summary", path: "summary.json", mediaType: "application/json" });
  return result;
}

async function sliceLayers(
  input: SliceInput,
  model: Model,
  { mesh, measures: { bounds } }: PreparedMesh,
  services: SliceServices,
): Promise<readonly LayerRow[]> {
  const { layerHeight, checkpointEvery, limits } = input.configuration;
  const { signal, workspace, reportProgress, publishArtifact, publishCheckpoint } = services;
  const total = countLayers(bounds, layerHeight, limits.maxLayers);
  const rows = await rowsSoFar(input, model, total, services);
  let parent: JobRevision | undefined = input.resume?.revision;
  await reportProgress({ phase: "slice", completed: rows.length, total });
  for (const layer of sliceMesh(mesh, { layerHeight, maxLayers: limits.maxLayers, from: rows.length })) {
    signal.throwIfAborted();
    const path = layerPath(layer.index);
    await workspace.write(path, drawLayer(layer, bounds));
    await publishArtifact({ role: "layer", path, mediaType: DRAWING_TYPE });
    rows.push({
      layer: layer.index,
      z: layer.z,
      area: layer.area,
      outlines: layer.outlines.length,
      gaps: layer.gaps.length,
    });
    await reportProgress({ phase: "slice", completed: rows.length, total });
    if (rows.length % checkpointEvery !== 0 || rows.length === total) continue;
    await workspace.write(CHECKPOINT_PATH, checkpointText(rows));
    parent = await publishCheckpoint({
      paths: [CHECKPOINT_PATH],
      metadata: { nextLayer: rows.length, meshDigest: model.digest, slicing: SLICING },
      ...(parent && { parent }),
    });
  }
  return rows;
}

/** The rows of layers that earlier attempts have published; none when there is no checkpoint, or it is of another model. */
async function rowsSoFar(
  { resume }: SliceInput,
  model: Model,
  total: number,
  { workspace, writeLog }: SliceServices,
): Promise<LayerRow[]> {
  if (resume === undefined) return [];
  const { nextLayer, meshDigest } = resume.metadata;
  const rows =
    meshDigest === model.digest && nextLayer <= total
      ? readCheckpoint(await workspace.read(CHECKPOINT_PATH), nextLayer)
      : undefined;
  const message = rows
    ? `going on at layer ${nextLayer} of ${total}`
    : "the checkpoint is not of this model: beginning at the first layer";
  await writeLog({ level: rows ? "info" : "warn", message });
  return [...(rows ?? [])];
}
