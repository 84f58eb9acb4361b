import type { ProviderConformance } from "./provider-under-test.ts";
import { aborted, becomes, heldTask, quickTask, statusWhen, useRigs, within } from "./rig.ts";
import { describe, expect, testOf } from "./test-runner.ts";

/** Cancelling: before a claim, during a run, and when both come at once. */
export function describeCancellation(conformance: ProviderConformance): void {
  describe("cancellation", () => {
    const rig = useRigs(conformance);
    const test = testOf(conformance);

    test("a pending job is cancelled and never runs", async () => {
      const held = heldTask("t");
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, null);
      expect(await queue.cancel(jobId)).toBe("cancelled");
      await queue.runBatch();
      expect(await queue.get(jobId)).toMatchObject({
        state: "cancelled",
        attempt: 0,
        cancelRequested: true,
        result: null,
        error: null,
      });
      expect(held.runs).toHaveLength(0);
      expect(await queue.cancel(jobId)).toBe("terminal");
    });

    test("a job that waits for its time or for its next attempt is cancelled", async () => {
      const held = heldTask("t", { retry: { delaySeconds: 600 } });
      const queue = (await rig()).queue(held.task);
      const later = await queue.enqueue(held.task, null, { runAt: new Date(Date.now() + 3_600_000) });
      expect(await queue.cancel(later)).toBe("cancelled");
      const jobId = await queue.enqueue(held.task, null);
      queue.startWorker();
      (await held.next()).fail();
      await statusWhen(queue, jobId, ({ state }) => state === "pending", "the job to wait");
      expect(await queue.cancel(jobId)).toBe("cancelled");
      expect(await queue.get(jobId)).toMatchObject({
        state: "cancelled",
        attempt: 1,
        cancelRequested: true,
        error: null,
      });
    });

    test("a job that has ended is terminal and keeps its end", async () => {
      const task = quickTask("t", () => "done");
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, null);
      await queue.runBatch();
      const before = await queue.get(jobId);
      expect(await queue.cancel(jobId)).toBe("terminal");
      expect(await queue.get(jobId)).toEqual(before);
    });

    test("a running job stays running until its handler has ended, and is then cancelled whatever it returned", async () => {
      const held = heldTask("t");
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, null);
      queue.startWorker();
      const run = await held.next();
      expect(await queue.cancel(jobId)).toBe("requested");
      expect(await queue.cancel(jobId)).toBe("requested");
      expect(await queue.get(jobId)).toMatchObject({ state: "running", cancelRequested: true });
      run.finish("ignored");
      expect(await becomes(queue, jobId, "cancelled")).toMatchObject({ result: null, error: null });
      expect(await queue.retry(jobId)).toBe(false);
    });

    test("a running job whose handler fails after the request is cancelled and not run again", async () => {
      const held = heldTask("t", { maxAttempts: 5 });
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, null);
      queue.startWorker();
      const run = await held.next();
      expect(await queue.cancel(jobId)).toBe("requested");
      run.fail();
      expect(await becomes(queue, jobId, "cancelled")).toMatchObject({ attempt: 1, error: null });
      await queue.runBatch();
      expect(held.runs).toHaveLength(1);
    });

    test("a request aborts the handler's signal, and the worker takes the next job", async () => {
      const held = heldTask("t");
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, 1);
      const next = await queue.enqueue(held.task, 2);
      queue.startWorker();
      const run = await held.next();
      await queue.cancel(jobId);
      await aborted(run.signal);
      expect((run.signal.reason as Error).name).toBe("JobCancelled");
      run.finish();
      (await held.next()).finish();
      await becomes(queue, next, "succeeded");
      expect(await queue.get(jobId)).toMatchObject({ state: "cancelled" });
    });

    test("cancelling while workers claim: no job both counts as cancelled and runs", async () => {
      const runs = new Set<string>();
      const task = quickTask("t", (_, { jobId }) => {
        runs.add(jobId);
        return null;
      });
      const { queue: open } = await rig();
      const queue = open(task);
      const ids = await Promise.all(Array.from({ length: 40 }, () => queue.enqueue(task, null)));
      open(task).startWorker({ concurrency: 5 });
      const answers = await Promise.all(ids.map((jobId) => queue.cancel(jobId)));
      for (const [n, jobId] of ids.entries()) {
        const status = await statusWhen(
          queue,
          jobId,
          ({ state }) => state === "cancelled" || state === "succeeded",
          "the job to end",
        );
        if (answers[n] === "cancelled") expect([status.state, runs.has(jobId)]).toEqual(["cancelled", false]);
        else if (answers[n] === "requested") expect(status.state).toBe("cancelled");
        else expect([answers[n], status.state, runs.has(jobId)]).toEqual(["terminal", "succeeded", true]);
      }
    });
  });
  const { name, openWithLongLeases } = conformance;
  if (openWithLongLeases !== undefined) describePromptCancellation({ name, open: openWithLongLeases });
}

function describePromptCancellation(conformance: ProviderConformance): void {
  describe("prompt cancellation", () => {
    const rig = useRigs(conformance);
    const test = testOf(conformance);

    test.each(["its own", "another"])(
      "a request through %s provider reaches the running handler long before its next pulse",
      async (whose) => {
        const held = heldTask("t");
        const { queue: open } = await rig();
        const queue = open(held.task);
        const canceller = whose === "its own" ? queue : open(held.task);
        const [jobId, other] = [await queue.enqueue(held.task, 1), await queue.enqueue(held.task, 2)];
        queue.startWorker({ concurrency: 2 });
        const runs = [await held.next(), await held.next()];
        const run = runs.find((each) => each.jobId === jobId);
        expect(await canceller.cancel(jobId)).toBe("requested");
        if (run === undefined) throw new Error("the job does not run");
        await within(aborted(run.signal), "the request to reach the handler", 5_000);
        expect((run.signal.reason as Error).name).toBe("JobCancelled");
        for (const each of runs) each.finish();
        await becomes(queue, jobId, "cancelled");
        await becomes(queue, other, "succeeded");
      },
    );
  });
}
