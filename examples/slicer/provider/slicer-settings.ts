import { toStandardJsonSchema } from "@valibot/to-json-schema";
import {
  defineConfiguration,
  type JobConfigurationDefinition,
  type JobSchema,
} from "lenso-jobs-plugin/job-provider";
import * as v from "valibot";
import { TRIANGLE_LIMIT } from "../stl/read-stl.ts";

/** How a model is sliced. */
export interface SlicerSettings {
  /** In mm, 0.001..1000. Thin layers follow the model more closely, and make more of them. Default 0.2. */
  readonly layerHeight: number;
  /** What one unit of the file is, since STL does not say. Default: a millimetre. */
  readonly unit: LengthUnit;
  /**
   * What becomes of a model that does not bound a body. `fail` ends the job and says in its log where the model is broken; `slice` cuts what
   * there is, and draws paths that do not close as gaps. Default: fail.
   */
  readonly onBrokenMesh: "fail" | "slice";
  /** Layers between two checkpoints, 1..10 000. Few cost time for sealing; many are cut again after a lost attempt. Default 50. */
  readonly checkpointEvery: number;
  readonly limits: {
    /** 1..2 000 000. A million take half a gigabyte, and hold the process for a few seconds while they are joined. Default 1 000 000. */
    readonly maxTriangles: number;
    /** 1..100 000. Default 10 000. */
    readonly maxLayers: number;
    /** 1..2 147 483 648. Default 268 435 456. */
    readonly maxFileBytes: number;
  };
}

/** Units that a file may be in, each in millimetres. */
export const lengthUnits = { millimetre: 1, centimetre: 10, metre: 1000, inch: 25.4 } as const;

/** A unit of length. */
export type LengthUnit = keyof typeof lengthUnits;

const whole = (most: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(most));

const schema: JobSchema<SlicerSettings> = toStandardJsonSchema(
  v.strictObject({
    layerHeight: v.pipe(
      v.number(),
      v.minValue(0.001),
      v.maxValue(1000),
      v.description("The height of a layer in mm."),
    ),
    unit: v.pipe(
      v.picklist(Object.keys(lengthUnits) as LengthUnit[]),
      v.description("What one unit of the file is."),
    ),
    onBrokenMesh: v.pipe(
      v.picklist(["fail", "slice"]),
      v.description("Whether a model that is not closed fails the job, or is sliced with gaps."),
    ),
    checkpointEvery: v.pipe(whole(10_000), v.description("Layers between two checkpoints.")),
    limits: v.strictObject({
      maxTriangles: whole(TRIANGLE_LIMIT),
      maxLayers: whole(100_000),
      maxFileBytes: whole(2 ** 31),
    }),
  }),
);

/** The slicer's configuration, with a default for everything. */
export const slicerConfiguration: JobConfigurationDefinition<typeof schema> = defineConfiguration({
  id: "examples/slicer-configuration",
  version: "1",
  schema,
  defaults: {
    layerHeight: 0.2,
    unit: "millimetre",
    onBrokenMesh: "fail",
    checkpointEvery: 50,
    limits: { maxTriangles: 1_000_000, maxLayers: 10_000, maxFileBytes: 2 ** 28 },
  },
});
