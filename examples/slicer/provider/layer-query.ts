import { toStandardJsonSchema } from "@valibot/to-json-schema";
import {
  defineJobQuery,
  type JobQueryDefinition,
  type JobReadableArtifact,
  type JobSchema,
} from "lenso-jobs-plugin/job-provider";
import * as v from "valibot";
import { readDrawing } from "../slice/read-drawing.ts";
import { layerPath } from "./slice-job.ts";

/** Which layer is meant. */
export const layerNumber: v.GenericSchema<number> = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(0),
  v.maxValue(99_999),
  v.description("From 0, the lowest."),
);

/** A layer's outlines. */
export interface LayerOutlines {
  readonly layer: number;
  /** In mm. */
  readonly z: number;
  /** Points in mm: counter-clockwise around material, clockwise around a hole. */
  readonly outlines: (readonly [number, number])[][];
  /** Paths that do not close, where the model is broken. */
  readonly gaps: (readonly [number, number])[][];
}

const inputSchema: JobSchema<{ layer: number }> = toStandardJsonSchema(
  v.strictObject({ layer: layerNumber }),
);

const paths = v.array(v.array(v.strictTuple([v.number(), v.number()])));
const resultSchema: JobSchema<LayerOutlines | null> = toStandardJsonSchema(
  v.nullable(v.strictObject({ layer: layerNumber, z: v.number(), outlines: paths, gaps: paths })),
);

/** `layer`: the outlines of a layer, also while others are still being cut. Null for one that is not published, or that there is not. */
export const layerQuery: JobQueryDefinition<"layer", typeof inputSchema, typeof resultSchema> =
  defineJobQuery({
    name: "layer",
    inputSchema,
    resultSchema,
    async execute({ input, artifacts, signal }) {
      const artifact = findLayer(artifacts, input.layer);
      if (artifact === undefined) return null;
      const drawn = readDrawing(await readText(artifact, signal));
      const copies = (of: typeof drawn.outlines) => of.map((path) => [...path]);
      return { layer: drawn.index, z: drawn.z, outlines: copies(drawn.outlines), gaps: copies(drawn.gaps) };
    },
  });

/** The drawing of a layer, if it is published. */
export function findLayer(
  artifacts: readonly JobReadableArtifact[],
  layer: number,
): JobReadableArtifact | undefined {
  return artifacts.find(({ role, path }) => role === "layer" && path === layerPath(layer));
}

/** An artifact that is a text. @throws whatever its stream throws */
export async function readText(artifact: JobReadableArtifact, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of artifact.read({ signal })) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
