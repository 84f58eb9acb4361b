import { addMilliseconds } from "../../../host-fixtures/clock.ts";
import { type Job, put } from "../../../host-fixtures/memory-job.ts";
import type { JobEvidence, JobStore } from "../../../plugin/store/job-store.ts";
import type { Model } from "../model-conformance.ts";
import { all, inStore, jobOf, type Mutant } from "./mutant.ts";

const completes = "complete makes a running job succeeded and clears its lease";
const codeStays = "the last failure code stays through later attempts and success, until another replaces it";
const renewals = "a renewal moves the expiry to now and the lease's time, and counts as a change";
const runTimes = "the run time of a running or ended job is that under which it was last claimed";

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Evidence with a change. */
function showing(
  { store }: Model,
  change: (seen: JobEvidence) => Partial<JobEvidence>,
): Pick<JobStore, "inspect"> {
  return {
    async inspect(id, call) {
      const seen = await store.inspect(id, call);
      return seen && { ...seen, ...change(seen) };
    },
  };
}

/** The verb as it is, and something done to the job after it. */
function after(
  model: Model,
  verb: "complete" | "fail" | "renew",
  then: (job: Job) => void,
): Partial<JobStore> {
  const { store } = model;
  const run = async <T>(
    id: { readonly row: string; readonly nonce: string },
    work: Promise<T>,
  ): Promise<T> => {
    const answer = await work;
    const job = jobOf(model, id);
    if (job && answer) then(job);
    return answer;
  };
  if (verb === "complete") return { complete: (p, call) => run(p.id, store.complete(p, call)) };
  if (verb === "renew") return { renew: (p, call) => run(p.id, store.renew(p, call)) };
  return { fail: (p, failure, call) => run(p.id, store.fail(p, failure, call)) };
}

/** Moves that are not made, or not shown. */
export const stateMutants: readonly Mutant[] = [
  inStore("complete answers and stores nothing", completes, (model) => ({
    async complete(proof, call) {
      const before = jobOf(model, proof.id);
      const kept = before && { ...before };
      const answer = await model.store.complete(proof, call);
      if (before && kept && answer) Object.assign(before, kept);
      return answer;
    },
  })),
  inStore("complete leaves the lease to be seen", completes, (model) =>
    showing(model, ({ status, updatedAt }) => (status === "succeeded" ? { leaseExpiresAt: updatedAt } : {})),
  ),
  inStore(
    "a job is handed out again while it runs",
    "a running job is not handed out again while its lease lasts",
    (model) => ({
      async claim(request, call) {
        const job = await model.store.claim(request, call);
        const running = all(model).find(
          ({ place, asked }) => place.is === "lease" && asked.queue === request.queue,
        );
        if (job || !running || running.attempts === running.asked.maxAttempts) return job;
        put(running, { is: "ready" }, model.clock.instant);
        return model.store.claim(request, call);
      },
    }),
  ),
  inStore("every failure is tried again", "a permanent fail fails the job for good", (model) => ({
    fail: (proof, { code }, call) => model.store.fail(proof, { code, retryable: true }, call),
  })),
  inStore(
    "every failure is for good",
    "a retryable fail queues the job again, with its code and its attempt",
    (model) => ({
      fail: (proof, { code }, call) => model.store.fail(proof, { code, retryable: false }, call),
    }),
  ),
  inStore(
    "max_attempts bounds no retries",
    "a retryable fail of the last attempt fails the job for good, with the caller's code",
    (model) => ({
      fail(proof, failure, call) {
        const job: Writable<Job> | undefined = jobOf(model, proof.id);
        if (!job) return model.store.fail(proof, failure, call);
        const { asked } = job;
        job.asked = { ...asked, maxAttempts: 1000 };
        const answer = model.store.fail(proof, failure, call);
        job.asked = asked;
        return answer;
      },
    }),
  ),
  inStore(
    "max_attempts counts retries only",
    "a job is handed out max_attempts times and not once more, however its attempts end",
    (model) => ({
      enqueue: (job, call) => model.store.enqueue({ ...job, maxAttempts: job.maxAttempts + 1 }, call),
    }),
  ),
  inStore(
    "the code of a failure is not stored",
    "a retryable fail queues the job again, with its code and its attempt",
    (model) =>
      after(model, "fail", (job) => {
        job.lastCode = null;
      }),
  ),
  inStore("success clears the code", codeStays, (model) =>
    after(model, "complete", (job) => {
      job.lastCode = null;
    }),
  ),
  inStore("a claim clears the code", codeStays, (model) => ({
    async claim(request, call) {
      const leased = await model.store.claim(request, call);
      const job = leased && jobOf(model, leased.id);
      if (job) job.lastCode = null;
      return leased;
    },
  })),
  inStore(
    "a claim shows no lease",
    "a claim makes a due job running, hands out what was enqueued, and counts one attempt",
    (model) => showing(model, () => ({ leaseExpiresAt: null })),
  ),
  inStore(
    "an attempt counts once it is settled",
    "a claim makes a due job running, hands out what was enqueued, and counts one attempt",
    (model) =>
      showing(model, ({ status, attempts }) => ({
        attempts: status === "running" ? attempts - 1 : attempts,
      })),
  ),
  inStore("a renewal adds to the expiry", renewals, (model) => ({
    async renew(proof, call) {
      const place = jobOf(model, proof.id)?.place;
      const answer = await model.store.renew(proof, call);
      const job = jobOf(model, proof.id);
      if (answer === undefined || place?.is !== "lease" || job?.place.is !== "lease") return answer;
      const expiresAt = addMilliseconds(place.expiresAt, model.config.lease_seconds * 1000);
      job.place = { ...job.place, expiresAt };
      return expiresAt;
    },
  })),
  inStore(
    "a renewal answers and changes nothing",
    "a lease that is renewed in time outlives its first expiry, in one attempt",
    (model) => ({
      async renew(proof, call) {
        const place = jobOf(model, proof.id)?.place;
        const answer = await model.store.renew(proof, call);
        const job = jobOf(model, proof.id);
        if (answer !== undefined && job && place) job.place = place;
        return answer;
      },
    }),
  ),
  inStore("a renewal is no change", renewals, (model) =>
    after(model, "renew", (job) => {
      job.updatedAt = job.createdAt;
    }),
  ),
  inStore("the run time of a running job is its expiry", runTimes, (model) =>
    showing(model, ({ leaseExpiresAt, availableAt }) => ({ availableAt: leaseExpiresAt ?? availableAt })),
  ),
  inStore(
    "evidence shows the requested time",
    "a requested time in the past means now, back to the year 0001",
    (model) => ({
      async inspect(id, call) {
        const seen = await model.store.inspect(id, call);
        return seen && { ...seen, availableAt: jobOf(model, id)?.asked.requestedAt ?? seen.availableAt };
      },
    }),
  ),
  inStore(
    "a retry makes the job anew",
    "the last change is that of the state, and the time of creation never changes",
    (model) =>
      after(model, "fail", (job) => {
        (job as Writable<Job>).createdAt = model.clock.instant;
      }),
  ),
  inStore(
    "success is no change",
    "the last change is that of the state, and the time of creation never changes",
    (model) =>
      after(model, "complete", (job) => {
        job.updatedAt = job.createdAt;
      }),
  ),
  inStore(
    "a refused call counts as a change",
    "to look changes nothing, nor does a call that is refused",
    (model) => ({
      async complete(proof, call) {
        const answer = await model.store.complete(proof, call);
        const job = jobOf(model, proof.id);
        if (job && !answer) job.updatedAt = model.clock.instant;
        return answer;
      },
    }),
  ),
  inStore(
    "a new job says that it was tried",
    "a new job is queued, without an attempt, a lease or a code",
    (model) =>
      showing(model, ({ attempts, status }) => ({ attempts: status === "queued" ? attempts + 1 : attempts })),
  ),
  inStore(
    "a job that failed can be completed",
    "a job that succeeded or failed never leaves that state",
    (model) => ({
      async complete(proof, call) {
        if (await model.store.complete(proof, call)) return true;
        const job = jobOf(model, proof.id);
        if (job?.place.is !== "outcome" || job.place.settledBy?.tokenHash !== proof.tokenHash) return false;
        put(job, { ...job.place, status: "succeeded" }, model.clock.instant);
        return true;
      },
    }),
  ),
  inStore("a failed job shows when it was to run", "a permanent fail fails the job for good", (model) => ({
    async fail(proof, failure, call) {
      const answer = await model.store.fail(proof, failure, call);
      return answer?.status === "failed"
        ? ({ status: "failed", nextRun: model.clock.instant } as unknown as typeof answer)
        : answer;
    },
  })),
];
