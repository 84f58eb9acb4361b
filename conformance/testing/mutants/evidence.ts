import type { Job } from "../../../host-fixtures/memory-job.ts";
import type { Model } from "../model-conformance.ts";
import { all, inStore, isExpired, jobOf, type Mutant } from "./mutant.ts";

const failing =
  "a job that fails, by its worker or because a claim finds it exhausted, changes then and keeps its run time";
const maintained = "a job that maintenance finds exhausted changes then and keeps its run time";

/** What was to be seen of the jobs whose leases have expired. */
interface Before {
  readonly job: Job;
  readonly updatedAt: string;
  readonly expiry: string;
}

function expiredOf(model: Model): Before[] {
  return all(model)
    .filter((job) => isExpired(job, model))
    .map((job) => ({
      job,
      updatedAt: job.updatedAt,
      expiry: job.place.is === "lease" ? job.place.expiresAt : "",
    }));
}

/** Afterwards, for those of them that have failed. */
function forFailed(seen: readonly Before[], then: (before: Before) => void): void {
  for (const each of seen) if (each.job.place.is === "outcome") then(each);
}

/** A mutant that shows something else of jobs which a claim found exhausted. */
function afterClaim(name: string, then: (before: Before) => void): Mutant {
  return inStore(name, failing, (model) => ({
    claim(request, call) {
      const seen = expiredOf(model);
      const claimed = model.store.claim(request, call);
      forFailed(seen, then);
      return claimed;
    },
  }));
}

/** The same for maintenance. */
function afterMaintenance(name: string, then: (before: Before) => void): Mutant {
  return {
    name,
    killer: maintained,
    departure: {
      maintain(model) {
        const seen = expiredOf(model);
        model.store.maintain();
        forFailed(seen, then);
      },
    },
  };
}

const keepChange = ({ job, updatedAt }: Before): void => void (job.updatedAt = updatedAt);
const showExpiry = ({ job, expiry }: Before): void => void (job.nextRun = expiry);

/** Evidence of failures that is not what happened. */
export const evidenceMutants: readonly Mutant[] = [
  inStore("a job that failed for good shows when, as its run time", failing, (model) => ({
    async fail(proof, failure, call) {
      const answer = await model.store.fail(proof, failure, call);
      const job = jobOf(model, proof.id);
      if (job && answer?.status === "failed") job.nextRun = model.clock.instant;
      return answer;
    },
  })),
  inStore("a failure for good is no change", failing, (model) => ({
    async fail(proof, failure, call) {
      const job = jobOf(model, proof.id);
      const before = job?.updatedAt ?? "";
      const answer = await model.store.fail(proof, failure, call);
      if (job && answer?.status === "failed") job.updatedAt = before;
      return answer;
    },
  })),
  afterClaim("exhaustion is no change", keepChange),
  afterClaim("an exhausted job shows its lease's expiry as its run time", showExpiry),
  afterMaintenance("exhaustion in maintenance is no change", keepChange),
  afterMaintenance("maintenance shows the lease's expiry as the run time of an exhausted job", showExpiry),
  inStore(
    "success clears lease_expired",
    "lease_expired replaces the worker's code, and stays after success",
    (model) => ({
      async complete(proof, call) {
        const answer = await model.store.complete(proof, call);
        const job = jobOf(model, proof.id);
        if (answer && job?.lastCode === "lease_expired") job.lastCode = null;
        return answer;
      },
    }),
  ),
];
