import { addMilliseconds } from "../../../host-fixtures/clock.ts";
import type { Job } from "../../../host-fixtures/memory-job.ts";
import type { Model } from "../model-conformance.ts";
import { inStore, jobOf, type Mutant } from "./mutant.ts";

const doubles = "the delay doubles from the base to the maximum, exactly";
const dates = "the delay counts from the moment of the failure, to the microsecond";

/** A mutant that computes another next run when an attempt fails. */
function delaying(name: string, killer: string, nextRun: (job: Job, model: Model) => string): Mutant {
  return inStore(name, killer, (model) => ({
    async fail(proof, failure, call) {
      const job = jobOf(model, proof.id);
      const running = job?.place.is === "lease";
      const answer = await model.store.fail(proof, failure, call);
      if (!job || !running || answer?.status !== "queued") return answer;
      job.nextRun = nextRun(job, model);
      return { status: "queued", nextRun: job.nextRun };
    },
  }));
}

const after = (model: Model, seconds: number): string => addMilliseconds(model.clock.instant, seconds * 1000);

/** Other delays than the promised ones. */
export const backoffMutants: readonly Mutant[] = [
  delaying("there is no delay", doubles, (_, model) => after(model, 0)),
  delaying("the delay is always the base", doubles, (_, model) =>
    after(model, model.config.retry_base_seconds),
  ),
  delaying("the delay grows by the base", doubles, ({ attempts }, model) =>
    after(model, Math.min(model.config.retry_base_seconds * attempts, model.config.retry_max_seconds)),
  ),
  delaying("the delay starts at twice the base", doubles, ({ attempts }, model) =>
    after(model, Math.min(model.config.retry_base_seconds * 2 ** attempts, model.config.retry_max_seconds)),
  ),
  delaying("the delay has no maximum", doubles, ({ attempts }, model) =>
    after(model, model.config.retry_base_seconds * 2 ** Math.min(attempts - 1, 20)),
  ),
  delaying(
    "the last delay is the largest doubling within the maximum",
    "a maximum that is no multiple of the base is kept exactly",
    ({ attempts }, model) => {
      let delay = model.config.retry_base_seconds;
      for (let each = 1; each < attempts && delay * 2 <= model.config.retry_max_seconds; each += 1)
        delay *= 2;
      return after(model, delay);
    },
  ),
  delaying(
    "the delay overflows 32 bits",
    "no delay overflows, for any of 100 attempts",
    ({ attempts }, model) =>
      after(
        model,
        Math.min(
          Math.max(0, model.config.retry_base_seconds * (1 << (attempts - 1))),
          model.config.retry_max_seconds,
        ),
      ),
  ),
  delaying("the delay has jitter", doubles, ({ nextRun }) => addMilliseconds(nextRun, 1 + Math.random())),
  delaying("the delay is cut to seconds", dates, ({ nextRun }) => `${nextRun.slice(0, 19)}.000000Z`),
  delaying("the delay counts from the claim", dates, (job, model) => {
    const claimedAt = job.createdAt; // enqueued and claimed at one instant in the case that tells
    return addMilliseconds(
      claimedAt,
      Math.max(0, model.config.retry_base_seconds * 2 ** (job.attempts - 1) * 1000),
    );
  }),
  inStore(
    "a lost attempt does not count for the delay",
    "an attempt that was lost counts for the delay of the next",
    (model) => {
      const failures = new Map<string, number>();
      return {
        async fail(proof, failure, call) {
          const job = jobOf(model, proof.id);
          const running = job?.place.is === "lease";
          const answer = await model.store.fail(proof, failure, call);
          if (!job || !running || answer?.status !== "queued") return answer;
          const count = failures.get(job.id.row) ?? 0;
          failures.set(job.id.row, count + 1);
          const { retry_base_seconds: base, retry_max_seconds: max } = model.config;
          job.nextRun = after(model, Math.min(base * 2 ** count, max));
          return { status: "queued", nextRun: job.nextRun };
        },
      };
    },
  ),
];
