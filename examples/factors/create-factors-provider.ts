import { defineJobProvider, type JobProviderFactory } from "lenso-jobs-plugin/job-provider";
import { type FactorsRole, factorNumbers } from "./factor-numbers.ts";
import { factorsConfiguration, factorsResult } from "./factors-schemas.ts";

/** A provider that factors the numbers of one text file: it publishes them as a table, and begins anew after a lost attempt. */
export function createFactorsProvider(): JobProviderFactory<{ readonly id: "examples/factors" }> {
  return defineJobProvider({
    id: "examples/factors",
    kind: "factor-numbers",
    kindVersion: 1,
    version: "1.0.0",
    configuration: factorsConfiguration,
    resultSchema: factorsResult,
    artifacts: [{ role: "factors" satisfies FactorsRole, mediaTypes: ["text/csv"], minimum: 1, maximum: 1 }],
    recovery: { mode: "restart-from-input" },
    execute: factorNumbers,
  });
}
