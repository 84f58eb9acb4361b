import type { ProviderConformance } from "./provider-under-test.ts";
import { aborted, becomes, heldTask, useRigs } from "./rig.ts";
import { describe, expect, testOf } from "./test-runner.ts";

/** What becomes of a job when its worker dies or goes silent, and what that worker can still do. */
export function describeLostClaims(conformance: ProviderConformance): void {
  describe("lost claims", () => {
    const rig = useRigs(conformance);
    const test = testOf(conformance);

    test("a job whose worker went silent runs again, and the old attempt changes nothing any more", async () => {
      const held = heldTask("t");
      const { under, queue: open } = await rig();
      const first = open(held.task);
      const jobId = await first.enqueue(held.task, { a: 1 });
      const silent = first.startWorker();
      const old = await held.next();
      const stopped = silent.stop(); // so that it does not claim the job again itself
      await under.expireLeases();
      expect(await first.get(jobId)).toMatchObject({ state: "pending", result: null, error: "aborted" });
      const second = open(held.task);
      second.startWorker();
      const current = await held.next();
      expect(current).toMatchObject({ jobId, input: { a: 1 } });
      expect(current.attempt).toBeGreaterThan(old.attempt);
      old.finish("old");
      await stopped;
      expect(await second.get(jobId)).toMatchObject({
        state: "running",
        attempt: current.attempt,
        result: null,
      });
      current.finish("new");
      expect(await becomes(second, jobId, "succeeded")).toMatchObject({
        result: "new",
        attempt: current.attempt,
      });
    });

    test("a late failure changes nothing either", async () => {
      const held = heldTask("t", { maxAttempts: 2 });
      const { under, queue: open } = await rig();
      const first = open(held.task);
      const jobId = await first.enqueue(held.task, null);
      const silent = first.startWorker();
      const old = await held.next();
      const stopped = silent.stop();
      await under.expireLeases();
      const second = open(held.task);
      second.startWorker();
      const current = await held.next();
      old.fail();
      await stopped;
      expect(await second.get(jobId)).toMatchObject({ state: "running", attempt: current.attempt });
      current.finish("new");
      expect(await becomes(second, jobId, "succeeded")).toMatchObject({ result: "new" });
      expect(held.runs).toHaveLength(2);
    });

    test("an attempt that lost its claim is told by its signal", async () => {
      const held = heldTask("t");
      const { under, queue: open } = await rig();
      const queue = open(held.task);
      await queue.enqueue(held.task, null);
      const worker = queue.startWorker();
      const old = await held.next();
      void worker.stop();
      await under.expireLeases();
      await aborted(old.signal);
      expect((old.signal.reason as Error).name).toBe("ClaimLost");
      old.finish();
    });

    test("a job that lost its last attempt has failed, and does not run again", async () => {
      const held = heldTask("t", { maxAttempts: 1 });
      const { under, queue: open } = await rig();
      const first = open(held.task);
      const jobId = await first.enqueue(held.task, null);
      const silent = first.startWorker();
      const old = await held.next();
      const stopped = silent.stop();
      await under.expireLeases();
      const second = open(held.task);
      await second.runBatch();
      expect(await becomes(second, jobId, "failed")).toMatchObject({
        attempt: 1,
        result: null,
        error: "aborted",
      });
      old.finish("old");
      await stopped;
      expect(await second.get(jobId)).toMatchObject({ state: "failed", result: null });
      expect(held.runs).toHaveLength(1);
      expect(await second.retry(jobId)).toBe(true);
    });

    test("a job that was to be cancelled and lost its worker is cancelled before another attempt", async () => {
      const held = heldTask("t", { maxAttempts: 5 });
      const { under, queue: open } = await rig();
      const first = open(held.task);
      const jobId = await first.enqueue(held.task, null);
      const silent = first.startWorker();
      const old = await held.next();
      const stopped = silent.stop();
      expect(await first.cancel(jobId)).toBe("requested");
      await under.expireLeases();
      const second = open(held.task);
      await second.runBatch();
      expect(await becomes(second, jobId, "cancelled")).toMatchObject({
        cancelRequested: true,
        result: null,
      });
      old.finish("old");
      await stopped;
      expect(await second.get(jobId)).toMatchObject({ state: "cancelled", result: null });
      expect(held.runs).toHaveLength(1);
      expect(await second.retry(jobId)).toBe(false);
    });

    test("the same on its last attempt: cancelled, not failed", async () => {
      const held = heldTask("t", { maxAttempts: 1 });
      const { under, queue: open } = await rig();
      const first = open(held.task);
      const jobId = await first.enqueue(held.task, null);
      const silent = first.startWorker();
      const old = await held.next();
      const stopped = silent.stop();
      await first.cancel(jobId);
      await under.expireLeases();
      const second = open(held.task);
      await second.runBatch();
      expect(await becomes(second, jobId, "cancelled")).toMatchObject({ error: null });
      old.finish();
      await stopped;
      expect(await second.retry(jobId)).toBe(false);
    });

    test("whatever happens to a job, no two of its attempts share a number", async () => {
      const held = heldTask("t", { maxAttempts: 4 });
      const { under, queue: open } = await rig();
      const queue = open(held.task);
      const jobId = await queue.enqueue(held.task, null);
      for (const end of ["fail", "lose", "fail", "lose", "retry", "fail", "retry", "finish"] as const) {
        if (end === "retry") {
          await becomes(queue, jobId, "failed");
          expect(await queue.retry(jobId)).toBe(true);
          continue;
        }
        const worker = open(held.task).startWorker();
        const run = await held.next();
        const stopped = worker.stop();
        if (end === "lose") await under.expireLeases();
        if (end === "finish") run.finish();
        else run.fail();
        await stopped;
      }
      const numbers = held.runs.map(({ attempt }) => attempt);
      expect(numbers).toHaveLength(6);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
      expect(await queue.get(jobId)).toMatchObject({ state: "succeeded", attempt: numbers.at(-1) });
    });
  });
}
