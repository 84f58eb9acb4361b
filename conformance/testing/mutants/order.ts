import { addMilliseconds } from "../../../host-fixtures/clock.ts";
import { byTurn, type Job, retireExhausted, returnExpired } from "../../../host-fixtures/memory-job.ts";
import type { Model } from "../model-conformance.ts";
import { all, farFuture, inStore, isExpired, jobOf, type Mutant, whileLasting } from "./mutant.ts";

const byRunTime = "jobs are handed out by run time, whatever the order of their enqueue";
const row = (job: Job): number => Number(job.id.row);
const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A mutant that hands out another one of the queue's due jobs, or none of them. */
function choosing(
  name: string,
  killer: string,
  makeChoice: (model: Model) => (due: readonly Job[], queued: readonly Job[]) => Job | undefined,
): Mutant {
  return inStore(name, killer, (model) => {
    const choose = makeChoice(model);
    return {
      claim(request, call) {
        const now = model.clock.instant;
        const jobs = all(model).filter((job) => job.asked.queue === request.queue);
        retireExhausted(jobs, now, 64);
        returnExpired(jobs, now);
        const queued = jobs.filter((job) => job.place.is === "ready").sort(byTurn);
        const chosen = choose(
          queued.filter((job) => job.nextRun <= now),
          queued,
        );
        const others = queued.filter((job) => job !== chosen).map((job) => ({ job, nextRun: job.nextRun }));
        for (const { job } of others) job.nextRun = farFuture;
        const left = jobs.filter((job) => isExpired(job, model)); // this claim has failed its share
        const claimed = whileLasting(left, () => model.store.claim(request, call));
        for (const { job, nextRun } of others) job.nextRun = nextRun;
        return claimed;
      },
    };
  });
}

/** Other jobs than the next one. */
export const orderMutants: readonly Mutant[] = [
  choosing(
    "the last that came is first",
    "jobs of one run time are handed out in the order of their enqueue",
    () => (due) => due.toSorted((a, b) => row(b) - row(a))[0],
  ),
  choosing(
    "jobs are handed out as they were enqueued",
    byRunTime,
    () => (due) => due.toSorted((a, b) => row(a) - row(b))[0],
  ),
  choosing(
    "jobs of one run time come in any order",
    "jobs of one run time are handed out in the order of their enqueue",
    () => (due) => due.toSorted((a, b) => text(a.id.nonce, b.id.nonce))[0],
  ),
  choosing(
    "the earliest requested time is first",
    "times asked for in the past give no precedence among each other",
    () => (due) => due.toSorted((a, b) => text(a.asked.requestedAt, b.asked.requestedAt))[0],
  ),
  choosing(
    "jobs of one run time come in the order of their last change",
    "a retried job and another of the same run time go by their enqueue",
    () => (due) =>
      due.toSorted(
        (a, b) => text(a.nextRun, b.nextRun) || text(a.updatedAt, b.updatedAt) || row(a) - row(b),
      )[0],
  ),
  choosing(
    "new jobs go before retried ones",
    "a retried job stands where its next run belongs",
    () => (due) => due.toSorted((a, b) => a.attempts - b.attempts || byTurn(a, b))[0],
  ),
  choosing(
    "run times are compared to the second",
    byRunTime,
    () => (due) =>
      due.toSorted((a, b) => text(a.nextRun.slice(0, 19), b.nextRun.slice(0, 19)) || row(a) - row(b))[0],
  ),
  choosing(
    "a claim looks only from what was handed out last",
    "is handed out again, although later jobs have been handed out meanwhile",
    () => {
      const last = new Map<string, string>();
      return (due) => {
        const job = due.find(({ asked, nextRun }) => nextRun >= (last.get(asked.queue) ?? ""));
        if (job) last.set(job.asked.queue, job.nextRun);
        return job;
      };
    },
  ),
  choosing(
    "a claim looks at the oldest 64 jobs",
    "many jobs of the future hide no due one",
    () => (due, queued) => {
      const oldest = new Set(queued.toSorted((a, b) => row(a) - row(b)).slice(0, 64));
      return due.find((job) => oldest.has(job));
    },
  ),
  inStore("a job of the future is handed out", "a job of the far future is not handed out", (model) => ({
    claim(request, call) {
      for (const job of all(model)) if (job.nextRun > model.clock.instant) job.nextRun = model.clock.instant;
      return model.store.claim(request, call);
    },
  })),
  inStore(
    "a job is due a moment before its instant",
    "a job of the future is due at its instant and not a microsecond before",
    (model) => ({
      async enqueue(job, call) {
        const verdict = await model.store.enqueue(job, call);
        const stored = verdict.kind === "created" ? jobOf(model, verdict.id) : undefined;
        if (stored && stored.nextRun > model.clock.instant)
          stored.nextRun = addMilliseconds(stored.nextRun, -0.001);
        return verdict;
      },
    }),
  ),
  inStore("a claim takes any queue's job", "a claim hands out jobs of its own queue only", (model) => ({
    async claim({ owner }, call) {
      for (const queue of model.config.queues) {
        const job = await model.store.claim({ queue, owner }, call);
        if (job) return job;
      }
      return undefined;
    },
  })),
];
