import { toStandardJsonSchema } from "@valibot/to-json-schema";
import type { JobSchema } from "lenso-jobs-plugin/job-provider";
import * as v from "valibot";

/** What a sliced model is, in numbers. The artifact of the role `summary` says the same, and every layer. */
export interface SlicerResult {
  readonly model: {
    /** Of the file. */
    readonly digest: string;
    readonly format: "binary" | "text";
  };
  readonly mesh: {
    readonly triangles: number;
    readonly vertices: number;
    readonly closed: boolean;
    readonly openEdges: number;
    readonly flippedEdges: number;
    readonly nonManifoldEdges: number;
    readonly degenerateTriangles: number;
    /** Whether the file had it inside out, and it was turned. */
    readonly turned: boolean;
  };
  /** In mm. */
  readonly bounds: {
    readonly minimum: readonly [number, number, number];
    readonly maximum: readonly [number, number, number];
  };
  /** mm³, from the triangles. */
  readonly volume: number;
  /** mm³, as the sum of each layer's area times its height. */
  readonly volumeFromLayers: number;
  /** mm², of the surface. */
  readonly area: number;
  readonly layers: number;
  /** Of all layers together, as the gaps. */
  readonly outlines: number;
  readonly gaps: number;
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const point = v.strictTuple([v.number(), v.number(), v.number()]);

/** Validates a {@link SlicerResult}. */
export const slicerResult: JobSchema<SlicerResult> = toStandardJsonSchema(
  v.strictObject({
    model: v.strictObject({ digest: v.string(), format: v.picklist(["binary", "text"]) }),
    mesh: v.strictObject({
      triangles: count,
      vertices: count,
      closed: v.boolean(),
      openEdges: count,
      flippedEdges: count,
      nonManifoldEdges: count,
      degenerateTriangles: count,
      turned: v.boolean(),
    }),
    bounds: v.strictObject({ minimum: point, maximum: point }),
    volume: v.number(),
    volumeFromLayers: v.number(),
    area: v.number(),
    layers: count,
    outlines: count,
    gaps: count,
  }),
);
