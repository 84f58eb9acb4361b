import type { ProviderConformance } from "./provider-under-test.ts";
import { becomes, codeOf, quickTask, useRigs } from "./rig.ts";
import { describe, expect, testOf } from "./test-runner.ts";

/** The caller's own transaction, for a provider that takes one. */
export function describeTransactions(conformance: ProviderConformance): void {
  describe("transactions", () => {
    const rig = useRigs(conformance);
    const test = testOf(conformance);
    const deduplicationKey = "order/1";

    test("a job exists when its transaction commits, not before", async () => {
      const task = quickTask("t");
      const { under, queue: open } = await rig();
      if (under.inTransaction === undefined) return;
      const queue = open(task);
      queue.startWorker();
      let jobId = "";
      await under.inTransaction(async (transaction) => {
        jobId = await queue.enqueue(task, 1, { transaction, deduplicationKey });
        expect(await queue.enqueue(task, 1, { transaction, deduplicationKey })).toBe(jobId);
        expect(await queue.get(jobId)).toBeNull();
        expect(await queue.lookupDeduplicationKey(deduplicationKey)).toBeNull();
      });
      expect(await becomes(queue, jobId, "succeeded")).toMatchObject({ attempt: 1 });
    });

    test("rolled back: no job, and the key is free", async () => {
      const task = quickTask("t");
      const { under, queue: open } = await rig();
      if (under.inTransaction === undefined) return;
      const queue = open(task);
      let jobId = "";
      const rolledBack = under.inTransaction(async (transaction) => {
        jobId = await queue.enqueue(task, 1, { transaction, deduplicationKey });
        throw new Error("rolled back");
      });
      expect(rolledBack).rejects.toThrow("rolled back");
      await rolledBack.catch(() => {});
      expect(await queue.get(jobId)).toBeNull();
      expect(await queue.lookupDeduplicationKey(deduplicationKey)).toBeNull();
      expect(await queue.enqueue(task, 2, { deduplicationKey })).not.toBe(jobId);
    });

    test("what is no transaction is refused", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      for (const transaction of [{}, "begin", 1, null, () => undefined])
        expect(await codeOf(queue.enqueue(task, 1, { transaction }))).toBe("invalid-options");
      expect((await queue.list({ tasks: [task] })).jobs).toEqual([]);
    });
  });
}
