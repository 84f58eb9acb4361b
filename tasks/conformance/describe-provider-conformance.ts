import { describeAttempts } from "./attempts.ts";
import { describeCancellation } from "./cancellation.ts";
import { describeDeduplication } from "./deduplication.ts";
import { describeJobs } from "./jobs.ts";
import { describeLostClaims } from "./lost-claims.ts";
import type { ProviderConformance } from "./provider-under-test.ts";
import { describe } from "./test-runner.ts";
import { describeTransactions } from "./transactions.ts";
import { describeWorkers } from "./workers.ts";

/**
 * What every TaskProvider must do, as tests for `bun test`, through a queue as its users have it: some seventy, each on a fresh queue of
 * its own, all together about as many seconds as a claim takes to lapse. Call it at the top of a test file.
 *
 * @example
 * // my-provider.test.ts
 * import { describeTaskProviderConformance } from "lenso-jobs-plugin/tasks/conformance";
 *
 * describeTaskProviderConformance({
 *   name: "my provider",
 *   async open() {
 *     const name = `test-${crypto.randomUUID()}`;
 *     const admin = await connectMyQueue(name);
 *     return {
 *       provider: () => createMyTaskProvider({ name }),
 *       expireLeases: () => admin.expireLeases(),
 *       prune: () => admin.prune(),
 *       close: () => admin.close(),
 *     };
 *   },
 * });
 */
export function describeTaskProviderConformance(conformance: ProviderConformance): void {
  describe(`${conformance.name} as a task provider`, () => {
    describeJobs(conformance);
    describeDeduplication(conformance);
    describeTransactions(conformance);
    describeAttempts(conformance);
    describeCancellation(conformance);
    describeLostClaims(conformance);
    describeWorkers(conformance);
  });
}
