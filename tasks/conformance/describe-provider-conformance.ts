import { describe } from "bun:test";
import { describeAttempts } from "./attempts.ts";
import { describeCancellation } from "./cancellation.ts";
import { describeDeduplication } from "./deduplication.ts";
import { describeJobs } from "./jobs.ts";
import { describeLostClaims } from "./lost-claims.ts";
import type { ProviderConformance } from "./provider-under-test.ts";
import { describeTransactions } from "./transactions.ts";
import { describeWorkers } from "./workers.ts";

/**
 * What every TaskProvider must do, as tests for `bun test`, through a queue as its users have it.
 *
 * @example
 * describeTaskProviderConformance({ name: "postgres", open: () => openMyQueue() });
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
