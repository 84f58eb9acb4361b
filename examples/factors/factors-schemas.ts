import { toStandardJsonSchema } from "@valibot/to-json-schema";
import {
  defineConfiguration,
  type JobConfigurationDefinition,
  type JobSchema,
} from "lenso-jobs-plugin/job-provider";
import * as v from "valibot";

/** How the table is written. */
export interface FactorsSettings {
  /** Between the columns. Default: a comma. */
  readonly separator: "," | ";" | "\t";
}

/** How many numbers there were, and how many of them are primes. */
export interface FactorsResult {
  readonly numbers: number;
  readonly primes: number;
}

const settings: JobSchema<FactorsSettings> = toStandardJsonSchema(
  v.strictObject({
    separator: v.pipe(v.picklist([",", ";", "\t"]), v.description("What stands between the columns.")),
  }),
);

/** The provider's configuration, with a default for everything. */
export const factorsConfiguration: JobConfigurationDefinition<typeof settings> = defineConfiguration({
  id: "examples/factors-configuration",
  version: "1",
  schema: settings,
  defaults: { separator: "," },
});

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Validates a {@link FactorsResult}. */
export const factorsResult: JobSchema<FactorsResult> = toStandardJsonSchema(
  v.strictObject({ numbers: count, primes: count }),
);
