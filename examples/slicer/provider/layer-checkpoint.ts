import { toStandardJsonSchema } from "@valibot/to-json-schema";
import type { JobCheckpointRecovery, JobSchema } from "lenso-jobs-plugin/job-provider";
import * as v from "valibot";

/** What the summary says of a layer. */
export interface LayerRow {
  readonly layer: number;
  /** In mm, as the drawing has it. */
  readonly z: number;
  /** In mm². */
  readonly area: number;
  readonly outlines: number;
  readonly gaps: number;
}

/** Where a checkpoint stands. The layers before it have been published; its file holds their rows. */
export interface LayerCheckpoint {
  readonly nextLayer: number;
  /** Of the model's file. */
  readonly meshDigest: string;
  /** {@link SLICING} of the version that made it. */
  readonly slicing: number;
}

/** Goes up with every change that gives a layer other bytes: a job never has layers of two kinds. */
export const SLICING = 1;

/** The checkpoint's file in the workspace. No model has this path: models end in `.stl`. */
export const CHECKPOINT_PATH = "slicer/layers.json";

/** How the slicer goes on after a lost attempt: from the first layer after the newest checkpoint. */
export const layerRecovery: JobCheckpointRecovery<JobSchema<LayerCheckpoint>> = {
  mode: "checkpoint",
  format: "slicer/layers",
  formatVersion: 1,
  metadataSchema: toStandardJsonSchema(
    v.strictObject({
      nextLayer: v.pipe(v.number(), v.integer(), v.minValue(1)),
      meshDigest: v.pipe(v.string(), v.regex(/^sha256:[0-9a-f]{64}$/)),
      slicing: v.pipe(v.number(), v.integer(), v.minValue(1)),
    }),
  ),
  compatible: ({ slicing }) => slicing === SLICING,
};

/** The text of a checkpoint's file. */
export function checkpointText(rows: readonly LayerRow[]): string {
  return JSON.stringify(rows);
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const rowsSchema = v.array(
  v.strictObject({ layer: count, z: v.number(), area: v.number(), outlines: count, gaps: count }),
);

/** The rows of a checkpoint's file, or undefined when it does not hold exactly the layers before `nextLayer`. */
export function readCheckpoint(bytes: Uint8Array, nextLayer: number): readonly LayerRow[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined; // whatever it is, it is no checkpoint of ours
  }
  const read = v.safeParse(rowsSchema, value);
  const fits = read.success && read.output.length === nextLayer;
  return fits && read.output.every(({ layer }, index) => layer === index) ? read.output : undefined;
}
