import { type Job, put, retireExhausted } from "../../../host-fixtures/memory-job.ts";
import type { Model } from "../model-conformance.ts";
import { all, inStore, isExpired, type Mutant, whileLasting } from "./mutant.ts";

const hidesNone = "many of them hide neither an expired job with attempts left nor a due one";
const retires = "a claim fails a job that lost its last attempt, and does not hand it out";

const exhaustedIn = (model: Model, queue?: string): Job[] =>
  all(model).filter(
    (job) =>
      isExpired(job, model) &&
      job.attempts === job.asked.maxAttempts &&
      (queue === undefined || job.asked.queue === queue),
  );

/** Exhausted jobs that are handled without bound, or that hide others. */
export const retirementMutants: readonly Mutant[] = [
  inStore(
    "a claim retires without bound",
    "one claim fails at most 64 of them, and claims go on until none is left",
    (model) => ({
      claim(request, call) {
        retireExhausted(exhaustedIn(model, request.queue), model.clock.instant, Number.POSITIVE_INFINITY);
        return model.store.claim(request, call);
      },
    }),
  ),
  inStore("a claim that retires hands out nothing", hidesNone, (model) => ({
    async claim(request, call) {
      const exhausted = exhaustedIn(model, request.queue);
      if (exhausted.length === 0) return model.store.claim(request, call);
      retireExhausted(exhausted, model.clock.instant, 64);
      return undefined;
    },
  })),
  inStore("exhausted jobs keep others from being taken back", hidesNone, (model) => ({
    claim(request, call) {
      const others = all(model).filter(
        (job) => isExpired(job, model) && job.attempts < job.asked.maxAttempts,
      );
      const hidden = exhaustedIn(model, request.queue).length > 0 ? others : [];
      return whileLasting(hidden, () => model.store.claim(request, call));
    },
  })),
  inStore(
    "a claim either hands a job out or takes expired ones back",
    "due jobs in plenty keep no expired job from being taken back",
    (model) => ({
      async claim(request, call) {
        const expired = all(model).filter((job) => isExpired(job, model));
        const job = await whileLasting(expired, () => model.store.claim(request, call));
        if (job === undefined) model.store.maintain();
        return job;
      },
    }),
  ),
  inStore("claims retire nothing", retires, (model) => ({
    claim: (request, call) => whileLasting(exhaustedIn(model), () => model.store.claim(request, call)),
  })),
  inStore("an exhausted job is handed out again", retires, (model) => ({
    claim(request, call) {
      for (const job of exhaustedIn(model, request.queue)) put(job, { is: "ready" }, model.clock.instant);
      return model.store.claim(request, call);
    },
  })),
  inStore(
    "an exhausted job keeps its old code",
    "attempts_exhausted replaces the code before it",
    (model) => ({
      claim(request, call) {
        const codes = exhaustedIn(model, request.queue).map((job) => [job, job.lastCode] as const);
        const claimed = model.store.claim(request, call);
        for (const [job, code] of codes) job.lastCode = code;
        return claimed;
      },
    }),
  ),
  {
    name: "maintenance leaves exhausted jobs running",
    killer: "maintenance fails jobs that lost their last attempt, in every queue",
    departure: {
      maintain: (model) => whileLasting(exhaustedIn(model), () => model.store.maintain()),
    },
  },
  {
    name: "maintenance looks at the first queue only",
    killer: "maintenance fails jobs that lost their last attempt, in every queue",
    departure: {
      maintain(model) {
        const elsewhere = all(model).filter((job) => job.asked.queue !== model.config.queues[0]);
        whileLasting(elsewhere, () => model.store.maintain());
      },
    },
  },
];
