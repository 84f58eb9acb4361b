import { createHash } from "node:crypto";
import type { EnqueueVerdict, NewJob } from "../../../plugin/store/job-store.ts";
import { atEndpoint, domain, isFields } from "./endpoints.ts";
import { inStore, jobOf, type Mutant } from "./mutant.ts";

const sameIntent = "the same intent under the same key is the first job, and says that it was there";
const keyOf = ({ producer, key }: NewJob): string => `${producer} ${key}`;

/** A mutant whose intents leave a field out. */
function forgetting(field: keyof NewJob, killer: string): Mutant {
  return inStore(`${field} is no part of the intent`, killer, (model) => ({
    enqueue(job, call) {
      const { intent: _, [field]: __, ...rest } = job;
      const intent = createHash("sha256").update(JSON.stringify(rest)).digest("hex");
      return model.store.enqueue({ ...job, intent }, call);
    },
  }));
}

/** A mutant that tells intents apart by something more: how the first request under a key looked. */
function comparing(
  name: string,
  killer: string,
  look: (fields: Readonly<Record<string, unknown>>) => unknown,
): Mutant {
  const seen = new WeakMap<object, Map<string, string>>();
  return atEndpoint(name, killer, async ({ operation, context, payload, fields, model }, inner) => {
    const outcome = await inner(operation, context, payload);
    if (operation !== "enqueue" || outcome.kind !== "success") return outcome;
    const looks = seen.get(model) ?? new Map<string, string>();
    seen.set(model, looks);
    const key = `${context.callerInstance ?? ""} ${String(fields["idempotency_key"])}`;
    const looked = JSON.stringify(look(fields));
    if ((looks.get(key) ?? looked) !== looked) return domain("idempotency_conflict");
    looks.set(key, looked);
    return outcome;
  });
}

/** Keys with another scope or span, and intents with other parts. */
export const idempotencyMutants: readonly Mutant[] = [
  forgetting("queue", "a key names one job across all queues"),
  forgetting("kind", "another kind is another intent"),
  forgetting("payload", "another payload is another intent"),
  forgetting("maxAttempts", "another number of attempts is another intent"),
  forgetting("requestedAt", "another requested time is another intent"),
  inStore("a key has no conflicts", "a conflict stores nothing and moves nothing", (model) => ({
    async enqueue(job, call) {
      const holder = model.table.byKey.get(keyOf(job));
      return holder ? { kind: "existing", id: holder.id } : model.store.enqueue(job, call);
    },
  })),
  inStore(
    "what lies in the past is compared as now",
    "another requested time, although both are past and mean now is another intent",
    (model) => ({
      enqueue(job, call) {
        const past = job.requestedAt <= model.clock.instant;
        const { intent: _, requestedAt, ...rest } = job;
        const intent = JSON.stringify({ ...rest, at: past ? "now" : requestedAt });
        return model.store.enqueue({ ...job, intent }, call);
      },
    }),
  ),
  inStore(
    "a key is free again after success",
    "a key holds while its job runs, is retried and has succeeded, and moves it never",
    (model) => ({
      enqueue(job, call) {
        const place = model.table.byKey.get(keyOf(job))?.place;
        if (place?.is === "outcome" && place.status === "succeeded") model.table.byKey.delete(keyOf(job));
        return model.store.enqueue(job, call);
      },
    }),
  ),
  inStore(
    "a key is free again after a failure",
    "a key holds after its job has failed, by its worker or by exhaustion",
    (model) => ({
      enqueue(job, call) {
        const place = model.table.byKey.get(keyOf(job))?.place;
        if (place?.is === "outcome" && place.status === "failed") model.table.byKey.delete(keyOf(job));
        return model.store.enqueue(job, call);
      },
    }),
  ),
  inStore("a job that was there says created", sameIntent, (model) => ({
    async enqueue(job, call) {
      const verdict = await model.store.enqueue(job, call);
      return verdict.kind === "existing" ? { ...verdict, kind: "created" } : verdict;
    },
  })),
  inStore("enqueueing again makes the job due again", sameIntent, (model) => ({
    async enqueue(job, call) {
      const verdict = await model.store.enqueue(job, call);
      const stored = verdict.kind === "existing" ? jobOf(model, verdict.id) : undefined;
      if (stored) stored.nextRun = job.requestedAt;
      return verdict;
    },
  })),
  inStore(
    "a key is looked up before the insert",
    "20 enqueues at once under one key make one job, and one of them has created it",
    (model) => ({
      async enqueue(job, call): Promise<EnqueueVerdict> {
        const key = keyOf(job);
        const there = model.table.byKey.has(key);
        await Promise.resolve();
        if (!there) model.table.byKey.delete(key);
        return model.store.enqueue(job, call);
      },
    }),
  ),
  inStore(
    "an intent is compared before the insert",
    "of two intents at once under one key one wins, and every call for the other conflicts",
    (model) => ({
      async enqueue(job, call): Promise<EnqueueVerdict> {
        const there = model.table.byKey.has(keyOf(job));
        await Promise.resolve();
        const holder = model.table.byKey.get(keyOf(job));
        return !there && holder ? { kind: "existing", id: holder.id } : model.store.enqueue(job, call);
      },
    }),
  ),
  inStore("a conflict takes the payload over", "a conflict stores nothing and moves nothing", (model) => ({
    async enqueue(job, call) {
      const verdict = await model.store.enqueue(job, call);
      const holder = verdict.kind === "conflict" ? model.table.byKey.get(keyOf(job)) : undefined;
      if (holder) Object.assign(holder, { asked: { ...holder.asked, payload: job.payload } });
      return verdict;
    },
  })),
  inStore("a retry moves the intent", "a retry moves the next run and never the intent", (model) => ({
    async enqueue(job, call) {
      const holder = model.table.byKey.get(keyOf(job));
      const moved = holder && holder.attempts > 0 && holder.nextRun !== holder.createdAt;
      if (!moved) return model.store.enqueue(job, call);
      return holder.nextRun === job.requestedAt ? { kind: "existing", id: holder.id } : { kind: "conflict" };
    },
  })),
  comparing(
    "payloads are compared as texts",
    "the order of a payload's keys makes no other intent, at any depth",
    ({ payload }) => payload,
  ),
  comparing(
    "only the outermost keys are put in order",
    "the order of a payload's keys makes no other intent, at any depth",
    ({ payload }) =>
      isFields(payload) ? Object.entries(payload).sort(([a], [b]) => (a < b ? -1 : 1)) : payload,
  ),
  comparing(
    "-0 and 0 are two values",
    "another spelling of the same JSON makes no other intent",
    ({ payload }) => isFields(payload) && Object.is(payload["n"], -0),
  ),
  comparing(
    "requested times are compared as texts",
    "the same instant in another offset makes no other intent",
    ({ available_at: at }) => String(at).slice(-6),
  ),
  comparing(
    "requested times are compared below the microsecond",
    "what lies below a microsecond makes no other intent",
    ({ available_at: at }) => /\.\d{6}(\d*?)0*(?=Z)/.exec(String(at))?.[1] ?? "",
  ),
  inStore(
    "payloads are compared without their nesting",
    "payloads that mean something else are another intent, however alike they look",
    (model) => ({
      enqueue(job, call) {
        const { intent: _, payload, ...rest } = job;
        const intent = JSON.stringify({ ...rest, payload: payload.replace(/[[\]{}]/g, "") });
        return model.store.enqueue({ ...job, intent }, call);
      },
    }),
  ),
  inStore("a field of null is as none", "a payload with one more field is another intent", (model) => ({
    enqueue(job, call) {
      const { intent: _, payload, ...rest } = job;
      const intent = JSON.stringify({ ...rest, payload: payload.replace(/"\w+":null,?/g, "") });
      return model.store.enqueue({ ...job, intent }, call);
    },
  })),
];
