import type { JsonValue } from "../../capability/index.ts";
import { defineTask } from "../define-task.ts";
import type { ProviderConformance } from "./provider-under-test.ts";
import { anyJson, becomes, heldTask, quickTask, useRigs } from "./rig.ts";
import { describe, expect, testOf } from "./test-runner.ts";

const unknownJob = "00000000-0000-4000-8000-000000000000";
const inAnHour = (): Date => new Date(Date.now() + 3_600_000);

/** Enqueueing, reading, listing, identity. */
export function describeJobs(conformance: ProviderConformance): void {
  describe("jobs", () => {
    const rig = useRigs(conformance);
    const test = testOf(conformance);

    test("a job is pending, without an attempt, before a worker takes it", async () => {
      const task = quickTask("t", undefined, { maxAttempts: 5 });
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, { a: 1 });
      expect(await queue.get(jobId)).toEqual({
        jobId,
        task: "t",
        state: "pending",
        attempt: 0,
        maxAttempts: 5,
        cancelRequested: false,
        result: null,
        error: null,
      });
    });

    test("a job that runs is running with its attempt, and then succeeded with its result", async () => {
      const held = heldTask("t");
      const queue = (await rig()).queue(held.task);
      const jobId = await queue.enqueue(held.task, { a: 1 });
      queue.startWorker();
      const run = await held.next();
      expect(run).toMatchObject({ jobId, attempt: 1, input: { a: 1 } });
      expect(await queue.get(jobId)).toMatchObject({ state: "running", attempt: 1, result: null });
      run.finish({ sum: [1, 2] });
      expect(await becomes(queue, jobId, "succeeded")).toEqual({
        jobId,
        task: "t",
        state: "succeeded",
        attempt: 1,
        maxAttempts: 3,
        cancelRequested: false,
        result: { sum: [1, 2] },
        error: null,
      });
    });

    test("without a projection what a handler returns is discarded", async () => {
      const task = defineTask({ name: "t", input: anyJson, handler: () => "secret" });
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, null);
      await queue.runBatch();
      expect(await queue.get(jobId)).toMatchObject({ state: "succeeded", result: null });
    });

    const values: [string, JsonValue][] = [
      ["null", null],
      ["an empty text", ""],
      ["zero", 0],
      ["numbers at the edges", [1e21, 1e-7, 5e-324, Number.MAX_SAFE_INTEGER, 0.1, Number.MAX_VALUE]],
      ["quotes and backslashes", `'"\\ $1 $cmd$ %I \u2028 \\u0000 é e\u0301 😀`],
      ["keys of the language", JSON.parse('{"__proto__":{"x":1},"constructor":2,"":3}') as JsonValue],
      ["nesting", nested(32)],
      ["as much as fits a result", "x".repeat(16_382)],
    ];
    test.each(values)("input and result come back unchanged: %s", async (_, value) => {
      const task = quickTask("t", (input) => input);
      const queue = (await rig()).queue(task);
      const jobId = await queue.enqueue(task, value);
      await queue.runBatch();
      const status = await queue.get(jobId);
      expect(status?.state).toBe("succeeded");
      expect(JSON.stringify(sorted(status?.result ?? null))).toBe(JSON.stringify(sorted(value)));
    });

    test("an input of 64 KiB is taken", async () => {
      const lengths: number[] = [];
      const task = quickTask("t", (input) => {
        lengths.push((input as string).length);
        return null;
      });
      const queue = (await rig()).queue(task);
      await queue.enqueue(task, "x".repeat(65_534));
      await queue.runBatch();
      expect(lengths).toEqual([65_534]);
    });

    test("a traceparent reaches the attempt", async () => {
      const provider = (await rig()).provider();
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      const seen: unknown[] = [];
      await provider.enqueue({ task: "t", input: 1, maxAttempts: 1, traceparent });
      await provider.enqueue({ task: "t", input: 2, maxAttempts: 1 });
      const worker = provider.startWorker(
        async (claimed) => {
          seen.push(claimed.traceparent);
          return { ok: true, result: null };
        },
        { concurrency: 1, maxJobs: 10 },
      );
      await worker.done;
      expect(new Set(seen)).toEqual(new Set([traceparent, undefined]));
    });

    test("a job that nobody knows: null, missing, false", async () => {
      const queue = (await rig()).queue(quickTask("t"));
      expect(await queue.get(unknownJob)).toBeNull();
      expect(await queue.cancel(unknownJob)).toBe("missing");
      expect(await queue.retry(unknownJob)).toBe(false);
    });

    test("a pruned job: null, missing, false", async () => {
      const task = quickTask("t");
      const { under, queue: open } = await rig();
      const queue = open(task);
      const done = await queue.enqueue(task, null);
      await queue.runBatch();
      const waiting = await queue.enqueue(task, null, { runAt: inAnHour() });
      await under.prune();
      expect(await queue.get(done)).toBeNull();
      expect(await queue.cancel(done)).toBe("missing");
      expect(await queue.retry(done)).toBe(false);
      expect(await queue.get(waiting)).toMatchObject({ state: "pending" });
    });

    test("one queue does not see the jobs of another", async () => {
      const task = quickTask("t");
      const one = (await rig()).queue(task);
      const other = (await rig()).queue(task);
      const jobId = await one.enqueue(task, null, { deduplicationKey: "k" });
      expect(await other.get(jobId)).toBeNull();
      expect(await other.cancel(jobId)).toBe("missing");
      expect(await other.lookupDeduplicationKey("k")).toBeNull();
      expect((await other.list({ tasks: [task] })).jobs).toEqual([]);
      expect(await other.enqueue(task, null, { deduplicationKey: "k" })).not.toBe(jobId);
    });

    test("the identity is a queue's own and stays", async () => {
      const { queue: open } = await rig();
      const identity = await open(quickTask("t")).identity();
      expect(identity.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
      expect(await open(quickTask("t")).identity()).toEqual(identity);
      expect((await (await rig()).queue(quickTask("t")).identity()).id).not.toBe(identity.id);
    });

    test("pages hold the tasks that are named, by ascending id, each job once", async () => {
      const [a, b] = [quickTask("a"), quickTask("b")];
      const queue = (await rig()).queue(a, b);
      const ids: string[] = [];
      for (let n = 0; n < 7; n++) {
        ids.push(await queue.enqueue(a, n));
        await queue.enqueue(b, n);
      }
      const found: string[] = [];
      let after: string | null = null;
      do {
        const page = await queue.list({ tasks: [a], limit: 3, ...(after === null ? {} : { after }) });
        found.push(...page.jobs.map(({ jobId }) => jobId));
        after = page.next;
      } while (after !== null);
      expect(found).toEqual(ids.toSorted());
      expect((await queue.list({ tasks: [a, b] })).jobs).toHaveLength(14);
      const [first] = (await queue.list({ tasks: [b], limit: 1 })).jobs;
      expect(Object.keys(first ?? {}).toSorted()).toEqual([
        "attempt",
        "cancelRequested",
        "jobId",
        "maxAttempts",
        "state",
        "task",
      ]);
    });

    test("a page that ends with the last job has no next", async () => {
      const task = quickTask("t");
      const queue = (await rig()).queue(task);
      for (let n = 0; n < 2; n++) await queue.enqueue(task, n);
      expect((await queue.list({ tasks: [task], limit: 2 })).next).toBeNull();
      expect((await queue.list({ tasks: [task], limit: 1 })).next).not.toBeNull();
    });
  });
}

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

/** A provider may keep members in another order. */
function sorted(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}
