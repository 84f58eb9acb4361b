import { addMilliseconds } from "../../../host-fixtures/clock.ts";
import { isHeldBy, type Job } from "../../../host-fixtures/memory-job.ts";
import type { FailVerdict, LeaseProof } from "../../../plugin/store/job-store.ts";
import type { Model } from "../model-conformance.ts";
import { all, inStore, jobOf, type Mutant, settlingWith } from "./mutant.ts";

const sameRun = "a retryable fail gives the same next run, also when that is past";
const sameAnswer = "complete gives the same answer, however often and also long after, and changes nothing";
const otherCode = "a fail with another code, or the same in other case, is another call";
const spent = "a retryable fail has no answer any more once the job is claimed again, whatever comes of that";
const otherHands = "another worker that asks again is refused";

/** The job, when this proof settled it and nobody has claimed it since. */
function settledBy(model: Model, proof: LeaseProof): Job | undefined {
  const job = jobOf(model, proof.id);
  const place = job?.place;
  return place && place.is !== "lease" && place.settledBy && isHeldBy(place.settledBy, proof)
    ? job
    : undefined;
}

/** The proof with one part taken from whoever settled the job. */
function as(model: Model, proof: LeaseProof, part: "owner" | "tokenHash"): LeaseProof {
  const place = jobOf(model, proof.id)?.place;
  return place && place.is !== "lease" && place.settledBy
    ? { ...proof, [part]: place.settledBy[part] }
    : proof;
}

const failed: FailVerdict = { status: "failed", nextRun: null };

/** Repeated calls that are answered too often, too rarely or anew. */
export const replayMutants: readonly Mutant[] = [
  inStore("complete answers once only", sameAnswer, (model) => ({
    complete: async (proof, call) =>
      jobOf(model, proof.id)?.place.is === "lease" && model.store.complete(proof, call),
  })),
  inStore("complete answers again while its lease would have lasted", sameAnswer, (model) => ({
    async complete(proof, call) {
      const job = settledBy(model, proof);
      const until = job && addMilliseconds(job.updatedAt, model.config.lease_seconds * 1000);
      if (until !== undefined && until <= model.clock.instant) return false;
      return model.store.complete(proof, call);
    },
  })),
  inStore("complete that is asked again is another change", sameAnswer, (model) => ({
    async complete(proof, call) {
      const answer = await model.store.complete(proof, call);
      const job = jobOf(model, proof.id);
      if (job && answer) job.updatedAt = model.clock.instant;
      return answer;
    },
  })),
  inStore("a retryable fail answers once only", sameRun, (model) => ({
    fail: async (proof, failure, call) =>
      settledBy(model, proof)?.place.is === "ready" ? undefined : model.store.fail(proof, failure, call),
  })),
  inStore(
    "a fail for good answers once only",
    "a fail for good gives the same answer, permanent or on the last attempt",
    (model) => ({
      fail: async (proof, failure, call) =>
        settledBy(model, proof)?.place.is === "outcome" ? undefined : model.store.fail(proof, failure, call),
    }),
  ),
  inStore("a fail that is asked again plans afresh", sameRun, (model) => ({
    async fail(proof, failure, call) {
      const again = settledBy(model, proof);
      const answer = await model.store.fail(proof, failure, call);
      if (!again || answer?.status !== "queued") return answer;
      again.nextRun = addMilliseconds(model.clock.instant, model.config.retry_base_seconds * 1000);
      return { status: "queued", nextRun: again.nextRun };
    },
  })),
  inStore("a fail answers again until its run is due", sameRun, (model) => ({
    async fail(proof, failure, call) {
      const again = settledBy(model, proof);
      if (again?.place.is === "ready" && again.nextRun <= model.clock.instant) return undefined;
      return model.store.fail(proof, failure, call);
    },
  })),
  inStore("a fail answers again whatever its code", otherCode, (model) => ({
    fail(proof, failure, call) {
      const code = settledBy(model, proof)?.lastCode ?? failure.code;
      return model.store.fail(proof, { ...failure, code }, call);
    },
  })),
  inStore(
    "a fail answers again whether or not it asks for a retry",
    "a fail that asks otherwise for a retry is another call",
    (model) => ({
      async fail(proof, { code, retryable }, call) {
        const answer = await model.store.fail(proof, { code, retryable }, call);
        return (
          answer ??
          (settledBy(model, proof) && model.store.fail(proof, { code, retryable: !retryable }, call))
        );
      },
    }),
  ),
  inStore(
    "a fail for good answers again as permanent only",
    "a fail for good gives the same answer, permanent or on the last attempt",
    (model) => ({
      async fail(proof, failure, call) {
        if (settledBy(model, proof)?.place.is === "outcome" && failure.retryable) return undefined;
        return model.store.fail(proof, failure, call);
      },
    }),
  ),
  inStore("complete answers after a fail", "complete after a fail is refused", (model) => ({
    complete: async (proof, call) =>
      (await model.store.complete(proof, call)) || settledBy(model, proof) !== undefined,
  })),
  inStore("fail answers after a complete", "fail after a complete is refused", (model) => ({
    fail: async (proof, failure, call) =>
      (await model.store.fail(proof, failure, call)) ?? (settledBy(model, proof) && failed),
  })),
  inStore("renew answers for a spent token", "renew with a spent token is refused", (model) => ({
    renew: async (proof, call) =>
      (await model.store.renew(proof, call)) ?? (settledBy(model, proof) && model.clock.instant),
  })),
  inStore("a lost reply is for any worker", otherHands, (model) =>
    settlingWith(model, (proof) => as(model, proof, "owner"), ["complete", "fail"]),
  ),
  inStore(
    "a lost reply is for any token of its worker",
    "the token of another job that is settled too is refused",
    (model) => settlingWith(model, (proof) => as(model, proof, "tokenHash"), ["complete", "fail"]),
  ),
  inStore("a fail answers again after the next claim", spent, (model) => {
    const answers = new Map<string, FailVerdict>();
    return {
      async fail(proof, failure, call) {
        const name = `${proof.tokenHash} ${failure.code}`;
        const answer = (await model.store.fail(proof, failure, call)) ?? answers.get(name);
        if (answer && proof.owner === "worker") answers.set(name, answer);
        return answer;
      },
    };
  }),
  inStore(
    "the last holder of an exhausted job may still complete it",
    "a job that failed by exhaustion answers nobody as if it had been settled",
    (model) => ({
      async claim(request, call) {
        const holders = all(model).map((job) => ({ job, place: job.place }));
        const leased = await model.store.claim(request, call);
        for (const { job, place } of holders)
          if (place.is === "lease" && job.place.is === "outcome")
            job.place = { ...job.place, settledBy: { ...place, operation: "complete" } };
        return leased;
      },
    }),
  ),
  inStore(
    "the last holder of an exhausted job may still fail it",
    "a claim fails a job that lost its last attempt, and does not hand it out",
    (model) => ({
      fail: async (proof, failure, call) =>
        (await model.store.fail(proof, failure, call)) ??
        (jobOf(model, proof.id)?.lastCode === failure.code ? failed : undefined),
    }),
  ),
];
