import { addMilliseconds } from "../../../host-fixtures/clock.ts";
import type { LeaseProof } from "../../../plugin/store/job-store.ts";
import { blindTo } from "./expiry.ts";
import { all, inStore, isExpired, jobOf, type Mutant } from "./mutant.ts";

const afterRenewal = "fail counts after the first expiry of a renewed lease, and the delay from then";
const later = (verb: string): string =>
  `${verb} is refused once the lease of a later attempt has expired, be it the last`;

/** Leases that begin, end or count wrongly once they are renewed, or on a later attempt. */
export const leaseMutants: readonly Mutant[] = [
  ...(["renew", "complete", "fail"] as const).flatMap((verb) => [
    inStore(`${verb} looks at the expiry of the first and the last attempt only`, later(verb), (model) =>
      blindTo(model, [verb], ({ id }) => {
        const job = jobOf(model, id);
        return job !== undefined && job.attempts > 1 && job.attempts < job.asked.maxAttempts;
      }),
    ),
    inStore(`${verb} does not look at the expiry of the last attempt`, later(verb), (model) =>
      blindTo(model, [verb], ({ id }) => {
        const job = jobOf(model, id);
        return job !== undefined && job.attempts === job.asked.maxAttempts;
      }),
    ),
  ]),
  inStore(
    "a claim that takes a job back leases it from the old lease's expiry",
    "a claim that takes a job back leases it from now, however long the old lease is over",
    (model) => ({
      async claim(request, call) {
        const old = new Map(
          all(model).map((job) => [
            job.id.row,
            isExpired(job, model) && job.place.is === "lease" && job.place.expiresAt,
          ]),
        );
        const leased = await model.store.claim(request, call);
        const before = leased && old.get(leased.id.row);
        const job = leased && jobOf(model, leased.id);
        if (!before || job?.place.is !== "lease") return leased;
        const expiresAt = addMilliseconds(before, model.config.lease_seconds * 1000);
        job.place = { ...job.place, expiresAt };
        return { ...leased, expiresAt };
      },
    }),
  ),
  inStore(
    "the last attempt cannot be renewed",
    "the lease of the last attempt can be renewed, and then completed",
    (model) => ({
      async renew(proof, call) {
        const job = jobOf(model, proof.id);
        return job?.attempts === job?.asked.maxAttempts ? undefined : model.store.renew(proof, call);
      },
    }),
  ),
  inStore(
    "a lease ends for good five lengths after its claim",
    "a lease goes on as long as it is renewed, for many times its length",
    (model) => {
      const claims = claimTimes();
      return {
        async claim(request, call) {
          const leased = await model.store.claim(request, call);
          if (leased) claims.set(leased.id, model.clock.instant);
          return leased;
        },
        async renew(proof, call) {
          const from = claims.get(proof.id) ?? model.clock.instant;
          const end = addMilliseconds(from, 5000 * model.config.lease_seconds);
          return end <= model.clock.instant ? undefined : model.store.renew(proof, call);
        },
      };
    },
  ),
  inStore("a token is good for eight renewals", "a token is good for any number of renewals", (model) => {
    const renewals = new Map<string, number>();
    return {
      async renew(proof, call) {
        const count = (renewals.get(proof.tokenHash) ?? 0) + 1;
        renewals.set(proof.tokenHash, count);
        return count > 8 ? undefined : model.store.renew(proof, call);
      },
    };
  }),
  inStore("fail compares the first expiry of a renewed lease", afterRenewal, (model) => {
    const claims = claimTimes();
    return {
      async claim(request, call) {
        const leased = await model.store.claim(request, call);
        if (leased) claims.set(leased.id, leased.expiresAt);
        return leased;
      },
      async fail(proof, failure, call) {
        const first = claims.get(proof.id) ?? "";
        const isRunning = jobOf(model, proof.id)?.place.is === "lease";
        return isRunning && first <= model.clock.instant ? undefined : model.store.fail(proof, failure, call);
      },
    };
  }),
  inStore("the delay after a renewed lease counts from its last renewal", afterRenewal, (model) => {
    const renewals = new Map<string, string>();
    return {
      async renew(proof, call) {
        const expiresAt = await model.store.renew(proof, call);
        if (expiresAt !== undefined) renewals.set(proof.tokenHash, model.clock.instant);
        return expiresAt;
      },
      async fail(proof, failure, call) {
        const answer = await model.store.fail(proof, failure, call);
        const from = renewals.get(proof.tokenHash);
        const job = jobOf(model, proof.id);
        if (!job || answer?.status !== "queued" || from === undefined) return answer;
        const late = Date.parse(job.updatedAt) - Date.parse(from);
        job.nextRun = addMilliseconds(answer.nextRun, -late);
        return { ...answer, nextRun: job.nextRun };
      },
    };
  }),
  inStore(
    "a lease that was renewed and expired costs the last attempt too",
    "a renewal costs no attempt, also when the lease expires after it",
    (model) => {
      const renewed = new Set<string>();
      return {
        async renew(proof, call) {
          renewed.add(proof.id.row);
          return model.store.renew(proof, call);
        },
        async claim(request, call) {
          for (const job of all(model)) {
            const hasOneLeft = job.attempts + 1 === job.asked.maxAttempts;
            if (isExpired(job, model) && hasOneLeft && renewed.has(job.id.row)) job.attempts += 1;
          }
          return model.store.claim(request, call);
        },
      };
    },
  ),
];

/** An instant for each job. */
function claimTimes() {
  const instants = new Map<string, string>();
  return {
    get: ({ row }: LeaseProof["id"]) => instants.get(row),
    set: ({ row }: LeaseProof["id"], instant: string) => void instants.set(row, instant),
  };
}
