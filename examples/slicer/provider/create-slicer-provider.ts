import { defineJobProvider, type JobProviderFactory } from "lenso-jobs-plugin/job-provider";
import { DRAWING_TYPE } from "../slice/draw-layer.ts";
import { layerRecovery } from "./layer-checkpoint.ts";
import { layerQuery } from "./layer-query.ts";
import { type SlicerRole, sliceJob } from "./slice-job.ts";
import { slicerResult } from "./slicer-result.ts";
import { slicerConfiguration } from "./slicer-settings.ts";
import type { Workshop } from "./workshop.ts";
import { workshopCommands } from "./workshop-commands.ts";

/** What the slicer's commands act on. */
export interface SlicerProviderOptions {
  readonly workshop: Workshop;
}

/**
 * A provider that slices one STL model of a job's input: it publishes each layer as SVG and a summary as JSON, goes on at the newest checkpoint
 * after a lost attempt, and tells a layer's outlines while it is at work.
 */
export function createSlicerProvider({
  workshop,
}: SlicerProviderOptions): JobProviderFactory<{ readonly id: "examples/slicer" }> {
  return defineJobProvider({
    id: "examples/slicer",
    kind: "slice-mesh",
    kindVersion: 1,
    version: "1.0.0",
    configuration: slicerConfiguration,
    resultSchema: slicerResult,
    artifacts: [
      { role: "layer" satisfies SlicerRole, mediaTypes: [DRAWING_TYPE], minimum: 1, maximum: 100_000 },
      { role: "summary" satisfies SlicerRole, mediaTypes: ["application/json"], minimum: 1, maximum: 1 },
    ],
    recovery: layerRecovery,
    queries: [layerQuery],
    commands: workshopCommands(workshop),
    execute: sliceJob,
  });
}
