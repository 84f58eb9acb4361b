import type { ProviderConformance } from "./provider-under-test.ts";
import { aborted, becomes, codeOf, heldTask, quickTask, statusWhen, useRigs, within } from "./rig.ts";
import { describe, expect, testOf } from "./test-runner.ts";

/** Workers: starting, sharing, stopping, closing. */
export function describeWorkers(conformance: ProviderConformance): void {
  describe("workers", () => {
    const rig = useRigs(conformance);
    const test = testOf(conformance);

    test("many jobs and two workers: each job runs once", async () => {
      const runs: string[] = [];
      const task = quickTask("t", (_, { jobId }) => {
        runs.push(jobId);
        return null;
      });
      const { queue: open } = await rig();
      const [one, two] = [open(task), open(task)];
      const ids = await Promise.all(Array.from({ length: 60 }, (_, n) => one.enqueue(task, n)));
      one.startWorker({ concurrency: 8 });
      two.startWorker({ concurrency: 8 });
      for (const jobId of ids) await becomes(one, jobId, "succeeded");
      expect(runs.toSorted()).toEqual(ids.toSorted());
    });

    test("a worker runs no more handlers at once than it may", async () => {
      let now = 0;
      let most = 0;
      const task = quickTask("t", async () => {
        most = Math.max(most, ++now);
        await Bun.sleep(5);
        now -= 1;
        return null;
      });
      const queue = (await rig()).queue(task);
      for (let n = 0; n < 12; n++) await queue.enqueue(task, n);
      await queue.runBatch({ concurrency: 3 });
      expect(most).toBe(3);
    });

    test("a batch works what is due, at most as many as asked, and ends", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      const ids: string[] = [];
      for (let n = 0; n < 5; n++) ids.push(await queue.enqueue(task, n));
      await queue.enqueue(task, "later", { runAt: new Date(Date.now() + 3_600_000) });
      const succeeded = async (): Promise<number> =>
        (await queue.list({ tasks: [task] })).jobs.filter(({ state }) => state === "succeeded").length;
      await queue.runBatch({ maxJobs: 2 });
      expect(await succeeded()).toBe(2);
      await queue.runBatch({ concurrency: 2 });
      expect(await succeeded()).toBe(5);
      await within(queue.runBatch(), "an empty batch to end");
    });

    test("stop waits for the handlers, settles them and claims nothing more", async () => {
      const held = heldTask("t");
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, 1);
      const worker = queue.startWorker();
      const run = await held.next();
      const next = await queue.enqueue(held.task, 2);
      let stopped = false;
      const stopping = worker.stop().then(() => {
        stopped = true;
      });
      await Bun.sleep(50);
      expect(stopped).toBe(false);
      expect(run.signal.aborted).toBe(false);
      run.finish("done");
      await stopping;
      await worker.done;
      expect(await queue.get(jobId)).toMatchObject({ state: "succeeded", result: "done" });
      expect(await queue.get(next)).toMatchObject({ state: "pending", attempt: 0 });
    });

    test("a worker that is stopped before its claim arrives gives it back as it was, due at once", async () => {
      const held = heldTask("t", { maxAttempts: 2, retry: { delaySeconds: 600 } });
      const { queue: open } = await rig();
      const queue = open(held.task);
      const jobId = await queue.enqueue(held.task, null);
      const before = await queue.get(jobId);
      for (let n = 0; n < 3; n++) {
        await within(queue.startWorker().stop(), "the worker to stop");
        expect(await queue.get(jobId)).toEqual(before);
      }
      expect(held.runs).toHaveLength(0);
      open(held.task).startWorker();
      const run = await held.next();
      expect(run.attempt).toBe(1);
      expect(await queue.get(jobId)).toMatchObject({ state: "running", attempt: 1, maxAttempts: 2 });
      run.finish();
      await becomes(queue, jobId, "succeeded");
    });

    test("a claim that is given back leaves the error of the attempt before, and that attempt's number", async () => {
      const held = heldTask("t", { maxAttempts: 3 });
      const { queue: open } = await rig();
      const queue = open(held.task);
      const jobId = await queue.enqueue(held.task, null);
      const worker = queue.startWorker();
      const first = await held.next();
      const stopped = worker.stop();
      first.fail();
      await stopped;
      const before = await queue.get(jobId);
      expect(before).toMatchObject({ state: "pending", attempt: 1, error: "handler-failed" });
      await within(queue.startWorker().stop(), "the worker to stop");
      expect(await queue.get(jobId)).toEqual(before);
      open(held.task).startWorker();
      const second = await held.next();
      expect(second.attempt).toBe(2);
      expect(await queue.get(jobId)).toMatchObject({ state: "running", error: null });
      second.fail();
      (await held.next()).fail();
      expect(await becomes(queue, jobId, "failed")).toMatchObject({ attempt: 3, maxAttempts: 3 });
    });

    test("a last attempt that is claimed while its worker stops runs: a deploy fails no job", async () => {
      const held = heldTask("t", { maxAttempts: 1 });
      const { queue: open } = await rig();
      const queue = open(held.task);
      const jobId = await queue.enqueue(held.task, null);
      const stopped = queue.startWorker().stop();
      const run = await Promise.race([held.next(), stopped]);
      if (run === undefined) {
        // The claim had not been sent: nothing has happened to the job.
        expect(await queue.get(jobId)).toMatchObject({ state: "pending", attempt: 0 });
        queue.startWorker();
      }
      (run ?? (await held.next())).finish("done");
      expect(await becomes(queue, jobId, "succeeded")).toMatchObject({ attempt: 1, result: "done" });
      await within(stopped, "the worker to stop");
    });

    test("stop with abort ends an attempt, not the job", async () => {
      const held = heldTask("t");
      const { queue: open } = await rig();
      const queue = open(held.task);
      const jobId = await queue.enqueue(held.task, null);
      const worker = queue.startWorker();
      const run = await held.next();
      const stopped = worker.stop({ abort: true });
      await aborted(run.signal);
      expect((run.signal.reason as Error).name).toBe("WorkerStopping");
      run.finish("too late");
      await stopped;
      expect(await queue.get(jobId)).toMatchObject({ state: "pending", attempt: 1, cancelRequested: false });
      open(held.task).startWorker();
      (await held.next()).finish("again");
      expect(await becomes(queue, jobId, "succeeded")).toMatchObject({ result: "again", attempt: 2 });
    });

    test("a handler that takes too long is aborted, and that is a retryable attempt", async () => {
      const held = heldTask("t", { maxAttempts: 2 });
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, null);
      queue.startWorker({ timeoutMs: 50 });
      for (let n = 0; n < 2; n++) {
        const run = await held.next();
        await aborted(run.signal);
        expect((run.signal.reason as Error).name).toBe("TimedOut");
        run.fail();
      }
      expect(await becomes(queue, jobId, "failed")).toMatchObject({
        attempt: 2,
        error: "aborted",
        cancelRequested: false,
      });
    });

    test("a worker finds a job that is enqueued while it idles", async () => {
      const held = heldTask("t");
      const { queue: open } = await rig();
      open(held.task).startWorker();
      const producer = open(held.task);
      for (let n = 0; n < 3; n++) {
        const jobId = await producer.enqueue(held.task, n);
        const run = await held.next();
        expect(run.jobId).toBe(jobId);
        run.finish();
        await statusWhen(producer, jobId, ({ state }) => state === "succeeded", "the job to succeed");
      }
    });

    test("close waits for workers; afterwards everything is closed", async () => {
      const held = heldTask("t");
      const provider = (await rig()).provider();
      const jobId = await provider.enqueue({ task: "t", input: null, maxAttempts: 1 });
      const gate = Promise.withResolvers<void>();
      const entered = Promise.withResolvers<void>();
      const worker = provider.startWorker(
        async () => {
          entered.resolve();
          await gate.promise;
          return { ok: true, result: null };
        },
        { concurrency: 1 },
      );
      await within(entered.promise, "the handler to be entered");
      const closing = provider.close();
      expect(provider.close()).toBe(closing);
      gate.resolve();
      await closing;
      await worker.done;
      expect(await codeOf(provider.enqueue({ task: "t", input: null, maxAttempts: 1 }))).toBe("closed");
      expect(await codeOf(provider.get(jobId))).toBe("closed");
      expect(await codeOf(provider.cancel(jobId))).toBe("closed");
      expect(await codeOf(provider.retry(jobId))).toBe("closed");
      expect(() =>
        provider.startWorker(async () => ({ ok: true, result: null }), { concurrency: 1 }),
      ).toThrow();
      expect(held.runs).toHaveLength(0);
    });

    test("a provider that was never used closes", async () => {
      await within((await rig()).provider().close(), "the provider to close");
    });
  });
}
