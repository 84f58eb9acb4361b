import type { Job } from "../../../host-fixtures/memory-job.ts";
import { all, farFuture, inStore, isExpired, type Mutant, whileLasting } from "./mutant.ts";

const isExhausted = (job: Job): boolean => job.attempts === job.asked.maxAttempts;

/** A mutant to whose claims some expired leases are there only when nothing else is to be had. */
function whenNothingIsDue(name: string, killer: string, waits: (job: Job) => boolean): Mutant {
  return inStore(name, killer, (model) => ({
    async claim(request, call) {
      const waiting = all(model).filter((job) => isExpired(job, model) && waits(job));
      const claimed = await whileLasting(waiting, () => model.store.claim(request, call));
      if (claimed) return claimed;
      const others = all(model).filter((job) => isExpired(job, model) && !waits(job)); // had their turn
      return whileLasting(others, () => model.store.claim(request, call));
    },
  }));
}

/** Claims to which one kind of job always goes before another. */
export const starvationMutants: readonly Mutant[] = [
  whenNothingIsDue(
    "expired jobs are taken back only when nothing is due",
    "due jobs that keep coming keep no expired job waiting for long",
    (job) => !isExhausted(job),
  ),
  whenNothingIsDue(
    "exhausted jobs are failed only when nothing is due",
    "due jobs that keep coming keep no exhausted job running for long",
    isExhausted,
  ),
  inStore(
    "due jobs are handed out only when none has expired",
    "jobs that expire again and again keep no due one waiting",
    (model) => ({
      claim(request, call) {
        const jobs = all(model).filter(({ asked }) => asked.queue === request.queue);
        if (!jobs.some((job) => isExpired(job, model) && !isExhausted(job)))
          return model.store.claim(request, call);
        const ready = jobs
          .filter(({ place }) => place.is === "ready")
          .map((job) => ({ job, nextRun: job.nextRun }));
        for (const { job } of ready) job.nextRun = farFuture;
        const claimed = model.store.claim(request, call);
        for (const { job, nextRun } of ready) job.nextRun = nextRun;
        return claimed;
      },
    }),
  ),
];
