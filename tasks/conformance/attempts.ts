import type { StandardSchemaV1 } from "@standard-schema/spec";
import { defineTask } from "../define-task.ts";
import type { ProviderConformance } from "./provider-under-test.ts";
import { anyJson, becomes, heldTask, quickTask, statusWhen, useRigs } from "./rig.ts";
import { describe, expect, testOf } from "./test-runner.ts";

const failing = (): never => {
  throw new Error("no");
};

/** Attempts, their delays and their ends. */
export function describeAttempts(conformance: ProviderConformance): void {
  describe("attempts", () => {
    const rig = useRigs(conformance);
    const test = testOf(conformance);

    test("a handler that fails is run again until its attempts are spent", async () => {
      const held = heldTask("t", { maxAttempts: 3 });
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, { a: 1 });
      queue.startWorker();
      for (const attempt of [1, 2, 3]) {
        const run = await held.next();
        expect(run).toMatchObject({ jobId, attempt, input: { a: 1 } });
        run.fail();
      }
      expect(await becomes(queue, jobId, "failed")).toMatchObject({
        attempt: 3,
        maxAttempts: 3,
        result: null,
        error: "handler-failed",
      });
      expect(held.runs).toHaveLength(3);
    });

    test("an attempt that follows a failure can succeed, and leaves no error", async () => {
      const task = quickTask("t", (_, { attempt }) => (attempt === 1 ? failing() : "done"));
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, null);
      queue.startWorker();
      expect(await becomes(queue, jobId, "succeeded")).toMatchObject({
        attempt: 2,
        result: "done",
        error: null,
      });
    });

    test("a job waits for its delay between two attempts, as pending", async () => {
      const held = heldTask("t", { maxAttempts: 2, retry: { delaySeconds: 1 } });
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, null);
      queue.startWorker();
      const first = await held.next();
      const failedAt = performance.now();
      first.fail();
      await statusWhen(queue, jobId, ({ state }) => state === "pending", "the job to wait");
      (await held.next()).finish();
      expect(performance.now() - failedAt).toBeGreaterThan(950);
      expect(await becomes(queue, jobId, "succeeded")).toMatchObject({ attempt: 2 });
    });

    test("a delay that grows stays within its limit", async () => {
      const retry = { delaySeconds: 1, backoff: true, maxDelaySeconds: 1 };
      const times: number[] = [];
      const task = quickTask(
        "t",
        () => {
          times.push(performance.now());
          return failing();
        },
        { maxAttempts: 3, retry },
      );
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, null);
      queue.startWorker();
      await becomes(queue, jobId, "failed");
      const pauses = times.slice(1).map((time, n) => time - (times[n] ?? 0));
      expect(pauses).toHaveLength(2);
      for (const pause of pauses) expect(pause).toBeWithin(900, 5_000);
    });

    test("a delay that grows is never shorter than was asked for", async () => {
      const times: number[] = [];
      const again = (): never => {
        times.push(performance.now());
        return failing();
      };
      const task = quickTask("t", again, { maxAttempts: 2, retry: { delaySeconds: 1, backoff: true } });
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, null);
      queue.startWorker();
      await becomes(queue, jobId, "failed");
      const [first = 0, second = 0] = times;
      expect(second - first).toBeGreaterThan(950);
    });

    test("a job of later is left alone; one of the past is due", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      const later = await queue.enqueue(task, null, { runAt: new Date(Date.now() + 3_600_000) });
      const past = await queue.enqueue(task, null, { runAt: new Date(Date.now() - 3_600_000) });
      const longAgo = await queue.enqueue(task, null, { runAt: new Date("1901-01-01") });
      await queue.runBatch();
      expect(await queue.get(later)).toMatchObject({ state: "pending", attempt: 0 });
      expect(await queue.get(past)).toMatchObject({ state: "succeeded" });
      expect(await queue.get(longAgo)).toMatchObject({ state: "succeeded" });
    });

    test("a job runs when its time comes", async () => {
      const held = heldTask("t");
      const queue = (await rig()).queue(held.task);
      const runAt = new Date(Date.now() + 1_500);
      await queue.enqueue(held.task, null, { runAt });
      queue.startWorker();
      (await held.next()).finish();
      expect(Date.now()).toBeGreaterThanOrEqual(runAt.getTime() - 100);
    });

    test("a stored input that the worker's schema refuses is final at once", async () => {
      const lax = quickTask("t", undefined, { maxAttempts: 5 });
      const strict = defineTask({ name: "t", input: refusing, handler: () => null, maxAttempts: 5 });
      const { queue: open } = await rig();
      const jobId = await open(lax).enqueue(lax, 1);
      const worker = open(strict);
      await worker.runBatch();
      expect(await worker.get(jobId)).toMatchObject({
        state: "failed",
        attempt: 1,
        maxAttempts: 5,
        error: "invalid-input",
      });
    });

    test("a result that is no JSON is final at once", async () => {
      const task = defineTask({
        name: "t",
        input: anyJson,
        handler: () => null,
        result: () => "\u0000",
        maxAttempts: 5,
      });
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, null);
      await queue.runBatch();
      expect(await queue.get(jobId)).toMatchObject({
        state: "failed",
        attempt: 1,
        result: null,
        error: "invalid-result",
      });
    });

    test("a task that the worker does not know is tried again, some seconds later", async () => {
      const [known, unknown] = [quickTask("known"), quickTask("unknown", undefined, { maxAttempts: 2 })];
      const { queue: open } = await rig();
      const producer = open(known, unknown);
      const jobId = await producer.enqueue(unknown, null);
      const worker = open(known);
      // A worker that uses up the attempts within a moment fails it before the new workers are there.
      await worker.runBatch();
      expect(await producer.get(jobId)).toMatchObject({ state: "pending", attempt: 1 });
      producer.startWorker();
      expect(await becomes(producer, jobId, "succeeded")).toMatchObject({ attempt: 2 });
    });

    test("a manual retry gives a failed job one more attempt, with the same id, input and counters", async () => {
      const held = heldTask("t", { maxAttempts: 2 });
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, { a: 1 });
      queue.startWorker();
      for (let n = 0; n < 2; n++) (await held.next()).fail();
      await becomes(queue, jobId, "failed");
      expect(await queue.retry(jobId)).toBe(true);
      const run = await held.next();
      expect(run).toMatchObject({ jobId, attempt: 3, input: { a: 1 } });
      expect(await queue.get(jobId)).toMatchObject({
        state: "running",
        cancelRequested: false,
        maxAttempts: 3,
      });
      run.fail();
      expect(await becomes(queue, jobId, "failed")).toMatchObject({ attempt: 3, maxAttempts: 3 });
      expect(await queue.retry(jobId)).toBe(true);
      (await held.next()).finish("at last");
      expect(await becomes(queue, jobId, "succeeded")).toMatchObject({
        attempt: 4,
        result: "at last",
        error: null,
      });
      expect(held.runs).toHaveLength(4);
    });

    test("a retried job is pending again and forgets its error", async () => {
      const task = quickTask("t", failing, { maxAttempts: 1 });
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, null);
      await queue.runBatch();
      expect(await queue.retry(jobId)).toBe(true);
      expect(await queue.get(jobId)).toMatchObject({
        state: "pending",
        attempt: 1,
        maxAttempts: 2,
        cancelRequested: false,
        result: null,
        error: null,
      });
    });

    test("a retry after an early end gives exactly one more attempt, not the ones that were left", async () => {
      const ends = { first: "\u0000", second: null };
      let end: keyof typeof ends = "first";
      const runs: number[] = [];
      const task = defineTask({
        name: "t",
        input: anyJson,
        handler: (_, { attempt }) => {
          runs.push(attempt);
          if (end === "second") failing();
        },
        result: () => ends[end],
        maxAttempts: 3,
      });
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, { a: 1 });
      await queue.runBatch();
      expect(await queue.get(jobId)).toMatchObject({ state: "failed", attempt: 1, maxAttempts: 3 });
      expect(await queue.retry(jobId)).toBe(true);
      expect(await queue.get(jobId)).toMatchObject({ state: "pending", attempt: 1, maxAttempts: 2 });
      end = "second";
      await queue.runBatch();
      expect(await queue.get(jobId)).toMatchObject({
        state: "failed",
        attempt: 2,
        maxAttempts: 2,
        error: "handler-failed",
      });
      expect(await queue.retry(jobId)).toBe(true);
      end = "first";
      await queue.runBatch();
      expect(await queue.get(jobId)).toMatchObject({
        state: "failed",
        attempt: 3,
        maxAttempts: 3,
        error: "invalid-result",
      });
      expect(runs).toEqual([1, 2, 3]);
    });

    test("only a failed job can be retried, and of many retries at once one is true", async () => {
      const held = heldTask("t", { maxAttempts: 1 });
      const queue = (await rig()).queue(held.task);
      const pending = await queue.enqueue(held.task, null, { runAt: new Date(Date.now() + 3_600_000) });
      expect(await queue.retry(pending)).toBe(false);
      await queue.cancel(pending);
      expect(await queue.retry(pending)).toBe(false);
      const jobId = await queue.enqueue(held.task, null);
      const worker = queue.startWorker();
      const run = await held.next();
      expect(await queue.retry(jobId)).toBe(false);
      run.fail();
      await becomes(queue, jobId, "failed");
      await worker.stop();
      const answers = await Promise.all(Array.from({ length: 8 }, () => queue.retry(jobId)));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await queue.get(jobId)).toMatchObject({ state: "pending", maxAttempts: 2 });
      queue.startWorker();
      (await held.next()).finish();
      await becomes(queue, jobId, "succeeded");
      expect(await queue.retry(jobId)).toBe(false);
    });
  });
}

const refusing: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "conformance", validate: () => ({ issues: [{ message: "never" }] }) },
};
