import { jobsConformanceCases } from "./all-cases.ts";
import { missingNeeds } from "./conformance-case.ts";
import type { JobsConformance, JobsWorld } from "./jobs-conformance.ts";
import { runConformanceCase } from "./run-conformance-case.ts";
import { bunTest } from "./test-runner.ts";

/**
 * What every provider of `lenso.jobs@1` must do, as tests for `bun test`: each on a fresh Instance, through the handles that a host
 * gives its modules. Call it at the top of a test file. A case that needs what the provider does not offer is reported as skipped.
 *
 * @throws Error outside of `bun test`; there, give `jobsConformanceCases` and `runConformanceCase` to the runner that you have.
 * @example
 * // my-jobs.test.ts
 * import { describeJobsConformance } from "lenso-jobs-plugin/conformance";
 *
 * describeJobsConformance({
 *   name: "my jobs",
 *   async provide(configuration) {
 *     const clock = createTestClock();
 *     const host = await startMyHost({ ...configuration, clock });
 *     return { clock, handle: (caller) => host.handle(caller, "jobs"), close: () => host.stop() };
 *   },
 *   clock: (world) => world.clock,
 * });
 */
export function describeJobsConformance<World extends JobsWorld>(conformance: JobsConformance<World>): void {
  const { describe, test } = bunTest();
  const rules = Map.groupBy(jobsConformanceCases, (each) => each.rule);
  const timeoutMs = (conformance.clock === "waited" ? 60_000 : 30_000) + (conformance.patienceMs ?? 0);
  describe(`${conformance.name} as a provider of lenso.jobs@1`, () => {
    for (const [rule, cases] of rules) {
      describe(rule, () => {
        for (const each of cases) {
          const missing = missingNeeds(each, conformance);
          if (missing.length > 0) test.skip(`${each.name} (needs ${missing.join(", ")})`, () => {});
          else test(each.name, () => runConformanceCase(each, conformance), timeoutMs);
        }
      });
    }
  });
}
