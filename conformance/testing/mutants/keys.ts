import { createHash } from "node:crypto";
import type { Job } from "../../../host-fixtures/memory-job.ts";
import type { NewJob } from "../../../plugin/store/job-store.ts";
import type { Model } from "../model-conformance.ts";
import { inStore, isExpired, type Mutant } from "./mutant.ts";

const punctuation = "keys differ by case, by punctuation and by what stands behind";
const longest = "keys of 256 characters differ by each of them";
const attempts = "a key holds through every attempt, also while nobody has seen that the lease expired";
const years = "a key holds for years, before its job is due and after it has ended";

/** A mutant that looks other keys up than it was given. */
function reading(name: string, killer: string, read: (job: NewJob) => Partial<NewJob>): Mutant {
  return inStore(name, killer, (model) => ({
    enqueue: (job, call) => model.store.enqueue({ ...job, ...read(job) }, call),
  }));
}

/** A mutant whose keys are free again. */
function freeing(name: string, killer: string, isFree: (job: Job, model: Model) => boolean): Mutant {
  return inStore(name, killer, (model) => ({
    enqueue(job, call) {
      const key = keyOf(job);
      const holder = model.table.byKey.get(key);
      if (holder && isFree(holder, model)) model.table.byKey.delete(key);
      return model.store.enqueue(job, call);
    },
  }));
}

const keyOf = ({ producer, key }: NewJob): string => `${producer} ${key}`;

/** How long ago that was by the model's clock, in hours. */
const hoursSince = (instant: string, { clock }: Model): number =>
  (Date.parse(clock.instant) - Date.parse(instant)) / 3_600_000;

/** Keys that are read loosely, or given up. */
export const keyMutants: readonly Mutant[] = [
  reading(
    "a key is the Instance's, whoever uses it",
    "a key belongs to its producer: another's is another job",
    () => ({ producer: "all" }),
  ),
  reading(
    "producer and key are joined without anything between",
    "where a producer's name ends and its key begins makes a difference",
    ({ producer, key }) => ({ producer: "all", key: producer + key }),
  ),
  reading("a key is its queue's", "a key names one job across all queues", ({ queue, key }) => ({
    key: `${queue} ${key}`,
  })),
  reading("keys are compared without case", punctuation, ({ key }) => ({ key: key.toLowerCase() })),
  reading("keys are compared without hyphens at their end", punctuation, ({ key }) => ({
    key: key.replace(/-+$/, ""),
  })),
  reading("keys are compared by their first 200 characters", longest, ({ key }) => ({
    key: key.slice(0, 200),
  })),
  reading("keys are compared by their first 255 characters", longest, ({ key }) => ({
    key: key.slice(0, 255),
  })),
  freeing("a key is free again 5 minutes after its enqueue", years, ({ createdAt }, model) => {
    return hoursSince(createdAt, model) > 5 / 60;
  }),
  freeing("a key is free again a day after its job has ended", years, ({ place, updatedAt }, model) => {
    return place.is === "outcome" && hoursSince(updatedAt, model) > 24;
  }),
  freeing("a key is free again once the lease has expired unseen", attempts, isExpired),
  freeing("a key is free again with the third attempt", attempts, (job) => job.attempts >= 3),
  inStore("a conflict with a job that ended an hour ago is that job", years, (model) => ({
    async enqueue(job, call) {
      const verdict = await model.store.enqueue(job, call);
      const holder = model.table.byKey.get(keyOf(job));
      const isOver = holder?.place.is === "outcome" && hoursSince(holder.updatedAt, model) > 1;
      return verdict.kind === "conflict" && isOver ? { kind: "existing", id: holder.id } : verdict;
    },
  })),
  reading(
    "payloads are compared by their first 1000 characters",
    "large payloads that differ in their last character are another intent",
    ({ queue, kind, payload, requestedAt, maxAttempts }) => {
      const parts = [queue, kind, payload.slice(0, 1000), requestedAt, maxAttempts];
      return { intent: createHash("sha256").update(JSON.stringify(parts)).digest("hex") };
    },
  ),
];
