import type { ProviderConformance } from "./provider-under-test.ts";
import { codeOf, quickTask, useRigs } from "./rig.ts";
import { describe, expect, testOf } from "./test-runner.ts";

/** One key, one job. */
export function describeDeduplication(conformance: ProviderConformance): void {
  describe("deduplication", () => {
    const rig = useRigs(conformance);
    const test = testOf(conformance);
    const deduplicationKey = "order/1";

    test("the same task and input give the first id, in whatever order their members come", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      const first = await queue.enqueue(task, { a: 1, b: [0, -0], c: 1 }, { deduplicationKey });
      expect(await queue.enqueue(task, { c: 1, b: [-0, 0], a: 1.0 }, { deduplicationKey })).toBe(first);
      expect((await queue.list({ tasks: [task] })).jobs).toHaveLength(1);
    });

    test("another input or another task is a conflict and changes nothing", async () => {
      const [task, other] = [quickTask("t"), quickTask("u")];
      const queue = (await rig()).queue(task, other);
      const first = await queue.enqueue(task, { a: 1 }, { deduplicationKey });
      for (const input of [{ a: 2 }, { a: "1" }, { a: null }, {}, [], { a: 1, b: 1 }])
        expect(await codeOf(queue.enqueue(task, input, { deduplicationKey }))).toBe("deduplication-conflict");
      expect(await codeOf(queue.enqueue(other, { a: 1 }, { deduplicationKey }))).toBe(
        "deduplication-conflict",
      );
      expect((await queue.list({ tasks: [task, other] })).jobs.map(({ jobId }) => jobId)).toEqual([first]);
    });

    test("a key stays taken when its job has ended", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      const first = await queue.enqueue(task, 1, { deduplicationKey });
      await queue.runBatch();
      expect(await queue.enqueue(task, 1, { deduplicationKey })).toBe(first);
      await queue.runBatch();
      expect(await queue.get(first)).toMatchObject({ state: "succeeded", attempt: 1 });
    });

    test("the key of a pruned job is expired, never a new job", async () => {
      const task = quickTask("t");
      const { under, queue: open } = await rig();
      const queue = open(task);
      const jobId = await queue.enqueue(task, 1, { deduplicationKey });
      await queue.runBatch();
      await under.prune();
      expect(await codeOf(queue.enqueue(task, 1, { deduplicationKey }))).toBe("job-expired");
      expect(await queue.lookupDeduplicationKey(deduplicationKey)).toEqual({ jobId, status: null });
      expect((await queue.list({ tasks: [task] })).jobs).toEqual([]);
    });

    test("many at once: one job, and everybody who asks otherwise hears of the conflict", async () => {
      const task = quickTask("t");
      const { queue: open } = await rig();
      const queues = [open(task), open(task)];
      const answers = await Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          const queue = queues[n % 2] as (typeof queues)[number];
          const input = { group: n % 4 < 2 ? "a" : "b" };
          const [settled] = await Promise.allSettled([queue.enqueue(task, input, { deduplicationKey })]);
          return {
            group: input.group,
            answer:
              settled.status === "fulfilled"
                ? settled.value
                : await codeOf(Promise.reject(settled.reason as Error)),
          };
        }),
      );
      const { jobs } = await (queues[0] as (typeof queues)[number]).list({ tasks: [task] });
      expect(jobs).toHaveLength(1);
      const winners = answers.filter(({ answer }) => answer === jobs[0]?.jobId);
      const losers = answers.filter(({ answer }) => answer === "deduplication-conflict");
      expect([winners.length, losers.length]).toEqual([20, 20]);
      expect(new Set(winners.map(({ group }) => group)).size).toBe(1);
    });

    test("keys are told apart byte by byte, up to 256 bytes", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      const keys = [
        "k",
        "K",
        " k",
        "é",
        "e\u0301",
        "k'; drop table x; --",
        "k%",
        "\\",
        "é".repeat(128),
        "x".repeat(256),
      ];
      const ids = new Set<string>();
      for (const key of keys) ids.add(await queue.enqueue(task, null, { deduplicationKey: key }));
      expect(ids.size).toBe(keys.length);
      for (const key of keys)
        expect((await queue.lookupDeduplicationKey(key))?.status?.state).toBe("pending");
    });

    test("a look-up answers without taking the key", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      expect(await queue.lookupDeduplicationKey(deduplicationKey)).toBeNull();
      const jobId = await queue.enqueue(task, 1, { deduplicationKey });
      const status = await queue.get(jobId);
      expect(await queue.lookupDeduplicationKey(deduplicationKey)).toEqual({ jobId, status });
    });

    test("without a key every enqueue is a job of its own", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      expect(await queue.enqueue(task, 1)).not.toBe(await queue.enqueue(task, 1));
    });
  });
}
