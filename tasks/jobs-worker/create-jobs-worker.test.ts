import { expect, test } from "bun:test";
import { inspect } from "node:util";
import * as v from "valibot";
import type { InspectResponse } from "../../capability/index.ts";
import type { TaskQueueError } from "../task-queue-error.ts";
import { createJobsWorker, type JobsWorkerOptions } from "./create-jobs-worker.ts";
import { defineJobKind } from "./define-job-kind.ts";
import { enqueueKind } from "./enqueue-kind.ts";
import { handleKind, type JobContext } from "./execute-job.ts";
import { JobFailure } from "./job-failure.ts";
import { type GivenJobs, givenJobs } from "./testing/given-jobs.ts";

const sendMail = defineJobKind({
  kind: "mail.send",
  payload: v.object({ to: v.string(), copies: v.optional(v.number(), 1) }),
});
type Mail = { readonly to: string; readonly copies: number };

let keys = 0;
async function enqueue(given: GivenJobs, maxAttempts = 3): Promise<string> {
  keys += 1;
  const request = { queue: "mail", payload: { to: "ada" }, idempotencyKey: `k${keys}`, maxAttempts };
  const stored = await enqueueKind(given.producer, sendMail, request);
  if (!stored.ok) throw new Error(JSON.stringify(stored.error));
  return stored.value.job_id;
}

function work(
  given: GivenJobs,
  handler: (payload: Mail, context: JobContext) => unknown,
  options: Partial<JobsWorkerOptions> = {},
) {
  return createJobsWorker({
    jobs: given.worker,
    queue: "mail",
    handlers: [handleKind(sendMail, handler)],
    pollIntervalMs: 5,
    ...options,
  });
}

async function inspectJob(given: GivenJobs, job_id: string): Promise<InspectResponse> {
  const seen = await given.producer.inspect({ job_id });
  if (!seen.ok) throw new Error(JSON.stringify(seen.error));
  return seen.value;
}

test("a job is claimed, its payload parsed, its handler run, and completed", async () => {
  await using given = await givenJobs();
  const job_id = await enqueue(given);
  const payloads: Mail[] = [];
  const worker = work(given, (payload, { jobId, attempt, signal }) => {
    payloads.push(payload);
    expect({ jobId, attempt, aborted: signal.aborted }).toEqual({
      jobId: job_id,
      attempt: 1,
      aborted: false,
    });
  });
  await given.seen("complete");
  await worker.stop();
  expect(payloads).toEqual([{ to: "ada", copies: 1 }]);
  expect(await inspectJob(given, job_id)).toMatchObject({ status: "succeeded", attempts: 1 });
});

test.each<[string, Error, string, "queued" | "failed"]>([
  ["an error", new Error("smtp: password=hunter2"), "handler_failed", "queued"],
  ["a JobFailure", new JobFailure("mailbox_full"), "mailbox_full", "queued"],
  ["a final JobFailure", new JobFailure("mailbox_gone", { retryable: false }), "mailbox_gone", "failed"],
])("a handler that throws %s decides code and retry", async (_name, thrown, code, status) => {
  await using given = await givenJobs();
  const job_id = await enqueue(given);
  const worker = work(given, () => Promise.reject(thrown));
  await given.seen("fail");
  await worker.stop();
  expect(await inspectJob(given, job_id)).toMatchObject({ status, last_failure_code: code, attempts: 1 });
});

test("codes that belong to Jobs, or that cannot be stored, are refused from handlers", async () => {
  for (const code of ["lease_expired", "attempts_exhausted", "", "a b", "x".repeat(129)])
    expect(() => new JobFailure(code)).toThrow(TypeError);
  await using given = await givenJobs();
  const job_id = await enqueue(given);
  const worker = work(given, () => {
    throw new JobFailure("lease_expired");
  });
  await given.seen("fail");
  await worker.stop();
  expect(await inspectJob(given, job_id)).toMatchObject({ last_failure_code: "handler_failed" });
});

test("a payload that its kind refuses fails for good, and a kind that is not known is retried", async () => {
  await using given = await givenJobs();
  const job = { queue: "mail", available_at: "2000-01-01T00:00:00Z", max_attempts: 3 };
  const bad = await given.producer.enqueue({
    ...job,
    kind: "mail.send",
    payload: { to: 3 },
    idempotency_key: "bad",
  });
  const other = await given.producer.enqueue({
    ...job,
    kind: "other",
    payload: {},
    idempotency_key: "other",
  });
  let entered = 0;
  const worker = work(given, () => void (entered += 1), { concurrency: 2 });
  const ended = (id: string) =>
    given.seen("fail", ({ request }) => (request as { job_id: string }).job_id === id);
  if (!bad.ok || !other.ok) throw new Error("not enqueued");
  await Promise.all([ended(bad.value.job_id), ended(other.value.job_id)]);
  await worker.stop();
  expect(entered).toBe(0);
  expect(await inspectJob(given, bad.value.job_id)).toMatchObject({
    status: "failed",
    last_failure_code: "invalid_payload",
  });
  expect(await inspectJob(given, other.value.job_id)).toMatchObject({
    status: "queued",
    last_failure_code: "unknown_kind",
  });
});

test("a payload that its kind refuses is never sent", async () => {
  await using given = await givenJobs();
  const refused = await enqueueKind(given.producer, sendMail, {
    queue: "mail",
    payload: { to: 3 as never },
    idempotencyKey: "x",
  });
  expect(refused).toEqual({ ok: false, error: { kind: "domain", error: "invalid_job" } });
});

test("enqueueing the same intent again gives the same job, without a time of its own", async () => {
  await using given = await givenJobs();
  const request = { queue: "mail", payload: { to: "ada" }, idempotencyKey: "same" };
  const first = await enqueueKind(given.producer, sendMail, request);
  await given.clock.advance(60_000);
  const second = await enqueueKind(given.producer, sendMail, request);
  expect([first, second]).toMatchObject([{ value: { created: true } }, { value: { created: false } }]);
});

test("a lost reply of complete or fail is asked for again until it comes", async () => {
  await using given = await givenJobs();
  const [done, failed] = [await enqueue(given), await enqueue(given)];
  let losses = 0;
  given.loses = (operation) => (operation === "complete" || operation === "fail") && ++losses <= 4;
  const errors: unknown[] = [];
  const worker = work(
    given,
    (_payload, { jobId }) => {
      if (jobId === failed) throw new JobFailure("no", { retryable: false });
    },
    { concurrency: 2, onError: (error) => errors.push(error) },
  );
  await given.seen("complete", ({ result }) => result.ok);
  await given.seen("fail", ({ result }) => result.ok);
  await worker.stop();
  expect(await inspectJob(given, done)).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(await inspectJob(given, failed)).toMatchObject({
    status: "failed",
    last_failure_code: "no",
    attempts: 1,
  });
  expect(errors.map(String)).toEqual(["RuntimeFailureError: unavailable: the reply was lost"]);
});

test("the lease's length is learnt from the first job, and renewals follow it", async () => {
  await using given = await givenJobs({ lease_seconds: 30 });
  await enqueue(given);
  await enqueue(given);
  const worker = work(given, () => {});
  await given.seen(
    "complete",
    () => given.calls.filter(({ operation }) => operation === "complete").length === 2,
  );
  await worker.stop();
  expect(given.calls.filter(({ operation }) => operation === "inspect")).toHaveLength(1);
  expect(given.calls.some(({ operation }) => operation === "renew")).toBe(false); // a fresh claim of 30 s is proof
});

test("while the lease's length is unknown it is taken for the shortest there is", async () => {
  await using given = await givenJobs({ lease_seconds: 30 });
  given.loses = (operation) => operation === "inspect";
  await enqueue(given);
  const release = Promise.withResolvers<void>();
  const worker = work(given, () => release.promise);
  await given.seen("renew"); // within a third of a second
  release.resolve();
  await given.seen("complete");
  await worker.stop();
});

test("a handler over its time is told so, and the attempt is retried as timed_out", async () => {
  await using given = await givenJobs();
  const job_id = await enqueue(given);
  const worker = work(given, (_payload, { signal }) => aborted(signal), { timeoutMs: 10 });
  await given.seen("fail");
  await worker.stop();
  expect(await inspectJob(given, job_id)).toMatchObject({ status: "queued", last_failure_code: "timed_out" });
});

test("stop with abort fails the attempt as worker_stopping, to be retried", async () => {
  await using given = await givenJobs();
  const job_id = await enqueue(given);
  const entered = Promise.withResolvers<void>();
  const worker = work(given, (_payload, { signal }) => {
    entered.resolve();
    return aborted(signal);
  });
  await entered.promise;
  await worker.stop({ abort: true });
  expect(await inspectJob(given, job_id)).toMatchObject({
    status: "queued",
    last_failure_code: "worker_stopping",
  });
});

test("a job that was claimed again elsewhere aborts its first handler, whose end changes nothing", async () => {
  await using given = await givenJobs({ lease_seconds: 1 });
  const job_id = await enqueue(given);
  const reason = Promise.withResolvers<Error>();
  const errors: unknown[] = [];
  const worker = work(
    given,
    async (_payload, { signal }) => {
      await given.clock.advance(1000); // the database's time: the lease is over
      await aborted(signal).catch((error: Error) => reason.resolve(error));
    },
    { leaseSeconds: 1, onError: (error) => errors.push(error) },
  );
  expect(await reason.promise).toMatchObject({ name: "ClaimLost", jobId: job_id });
  await worker.stop();
  expect(given.calls.some(({ operation }) => operation === "complete" || operation === "fail")).toBe(false);
  expect(String(errors[0])).toContain("its claim is held by nobody or by another worker");
});

test("signals wake the worker long before its polling interval", async () => {
  await using given = await givenJobs();
  const waits = Promise.withResolvers<void>();
  const wake = Promise.withResolvers<void>();
  const signals = {
    async wait(_request: unknown, context?: { readonly signal?: AbortSignal }) {
      waits.resolve();
      await Promise.race([wake.promise, aborted(context?.signal as AbortSignal).catch(() => {})]);
      return { ok: true as const, value: { queue: "mail" } };
    },
  };
  const worker = work(given, () => {}, { pollIntervalMs: 3_600_000, signals });
  await waits.promise;
  await enqueue(given);
  wake.resolve();
  await given.seen("complete");
  await worker.stop();
});

test("an Instance that may not work, or a queue that is not configured, ends the worker and says so", async () => {
  await using given = await givenJobs();
  for (const changes of [{ jobs: given.producer }, { queue: "other" }]) {
    const errors: unknown[] = [];
    const worker = work(given, () => {}, { ...changes, onError: (error) => errors.push(error) });
    const refusal = (await worker.done.catch((error: unknown) => error)) as TaskQueueError;
    expect(refusal).toMatchObject({ code: "invalid-options", phase: "work" });
    expect(String(refusal.cause)).toMatch(/unauthorized|invalid_queue/);
    expect(errors).toEqual([refusal]);
    await worker.stop();
  }
});

test("a host that shuts down closes claims first, and the worker drains without a word", async () => {
  await using given = await givenJobs();
  const errors: unknown[] = [];
  const worker = work(given, () => {}, { onError: (error) => errors.push(error) });
  await given.seen("claim");
  await given.stopHost();
  const closed = ({ result }: { result: { ok: boolean } }) =>
    !result.ok && JSON.stringify(result).includes("admission_closed");
  await given.seen("claim", closed);
  await worker.stop();
  expect(errors).toEqual([]);
});

test("no secret of a job is printed", async () => {
  await using given = await givenJobs();
  await enqueue(given);
  const lines: string[] = [];
  const write = (fields: object, message: string): void =>
    void lines.push(inspect([fields, message], { depth: 9 }));
  const worker = work(given, () => Promise.reject(new Error("failed")), {
    logger: { info: write, warn: write, error: write },
    onError: (error) => lines.push(inspect(error, { depth: 9 })),
  });
  given.loses = (operation) => operation === "fail" && lines.length < 2;
  await given.seen("fail", ({ result }) => result.ok);
  await worker.stop();
  expect(lines.join("\n")).toContain("the handler failed");
  expect(lines.join("\n")).not.toMatch(/job_lease_|ada/);
});

test.each<[string, object]>([
  [
    "two handlers of one kind",
    { handlers: [handleKind(sendMail, () => {}), handleKind(sendMail, () => {})] },
  ],
  ["no handler", { handlers: [] }],
  ["a concurrency of 0", { concurrency: 0 }],
  ["a lease of 0", { leaseSeconds: 0 }],
  ["an unknown option", { lease: 1 }],
])("%s is refused", async (_name, changes) => {
  await using given = await givenJobs();
  expect(() => work(given, () => {}, changes)).toThrow(expect.objectContaining({ code: "invalid-options" }));
});

/** Rejects with the signal's reason once it has aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
