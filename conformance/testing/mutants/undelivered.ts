import type { Job } from "../../../host-fixtures/memory-job.ts";
import { put } from "../../../host-fixtures/memory-job.ts";
import type { Call } from "../../../plugin/call.ts";
import type { Model } from "../model-conformance.ts";
import { all, inStore, type Mutant } from "./mutant.ts";

const attempt = "gives its attempt back when the caller gave up before the answer";

/** A mutant that does something to the job whose claim was just undone. */
function afterUndo(name: string, killer: string, then: (job: Job, model: Model) => void): Mutant {
  return inStore(name, killer, (model) => ({
    async claim(request, call) {
      const generations = new Map(all(model).map((job) => [job, job.generation]));
      try {
        return await model.store.claim(request, call);
      } catch (error) {
        for (const job of all(model)) if (job.generation !== generations.get(job)) then(job, model);
        throw error;
      }
    },
  }));
}

/** Claims that nobody received, taken back badly. */
export const undeliveredMutants: readonly Mutant[] = [
  afterUndo("an abandoned claim costs an attempt", attempt, (job) => {
    job.attempts += 1;
  }),
  afterUndo("an abandoned claim makes the job due from now, with a delay", attempt, (job) => {
    job.nextRun = "2026-02-01T00:00:00.000000Z";
  }),
  afterUndo("an abandoned claim leaves a code", attempt, (job) => {
    job.lastCode = "cancelled";
  }),
  afterUndo(
    "an abandoned claim forgets who settled the attempt before",
    "leaves the answer of the fail before it to who asks again",
    (job, { clock }) => put(job, { is: "ready" }, clock.instant),
  ),
  inStore(
    "an abandoned claim stays leased until it expires",
    "is none of the attempts, and every claim that was received has a job of its own",
    (model) => ({
      async claim(request, call) {
        const deaf: Call = { caller: call.caller, over: undefined, onOver: () => () => {} };
        const over = call.over;
        const job = over ? undefined : await model.store.claim(request, deaf);
        const reason = over ?? call.over;
        if (reason) throw reason;
        return job;
      },
    }),
  ),
];
