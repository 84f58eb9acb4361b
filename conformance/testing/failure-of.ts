import { jobsConformanceCases } from "../all-cases.ts";
import type { JobsConformance, JobsWorld } from "../jobs-conformance.ts";
import { runConformanceCase } from "../run-conformance-case.ts";

/** What a case, by its name, has to say against a provider; undefined when it notices nothing. */
export async function failureOf<World extends JobsWorld>(
  conformance: JobsConformance<World>,
  caseName: string,
): Promise<unknown> {
  const found = jobsConformanceCases.find(({ name }) => name === caseName);
  if (found === undefined) throw new Error(`there is no case "${caseName}"`);
  return runConformanceCase(found, conformance).then(
    () => undefined,
    (error: unknown) => error,
  );
}
