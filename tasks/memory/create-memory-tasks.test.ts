import { expect, test } from "bun:test";
import * as v from "valibot";
import { createTaskQueue } from "../create-task-queue.ts";
import { defineTask } from "../define-task.ts";
import { createMemoryTasks } from "./create-memory-tasks.ts";

const aWeekMs = 7 * 86_400_000;

function flaky(failures: number) {
  const attempts: number[] = [];
  const task = defineTask({
    name: "flaky",
    input: v.number(),
    handler(input, { attempt }) {
      attempts.push(attempt);
      if (attempts.length <= failures) throw new Error("not yet");
      return input;
    },
    result: (value) => value,
    maxAttempts: 5,
    retry: { delaySeconds: 3600, backoff: true },
  });
  return { task, attempts };
}

test("draining works what is due now and what is due later, through every retry, without waiting", async () => {
  const { task, attempts } = flaky(3);
  const memory = createMemoryTasks();
  const queue = createTaskQueue({ provider: memory.provider(), tasks: [task] });
  const now = await queue.enqueue(task, 1);
  const later = await queue.enqueue(task, 2, { runAt: new Date(Date.now() + aWeekMs) });
  await memory.drain(queue);
  expect(attempts).toEqual([1, 2, 3, 4, 1]);
  expect(await queue.get(now)).toMatchObject({ state: "succeeded", attempt: 4, result: 1 });
  expect(await queue.get(later)).toMatchObject({ state: "succeeded", attempt: 1, result: 2 });
  await queue.close();
});

test("draining that never comes to an end says so", async () => {
  const { task } = flaky(100);
  const memory = createMemoryTasks();
  const queue = createTaskQueue({ provider: memory.provider(), tasks: [task] });
  await queue.enqueue(task, 1);
  await expect(memory.drain(queue, { maxBatches: 3 })).rejects.toThrow("still pending after 3 batches");
  await queue.close();
});

test("draining works what handlers enqueue", async () => {
  const memory = createMemoryTasks();
  const chain = defineTask({
    name: "chain",
    input: v.number(),
    handler: async (left): Promise<void> => {
      if (left > 0) await queue.enqueue(chain, left - 1, { runAt: new Date(Date.now() + aWeekMs) });
    },
  });
  const queue = createTaskQueue({ provider: memory.provider(), tasks: [chain] });
  await queue.enqueue(chain, 2);
  await memory.drain(queue);
  expect((await queue.list({ tasks: [chain] })).jobs.map(({ state }) => state)).toEqual(
    Array.from({ length: 3 }, () => "succeeded"),
  );
  await queue.close();
});

test("a running worker takes up a job when the clock is moved to its time", async () => {
  const { task } = flaky(0);
  const memory = createMemoryTasks();
  const queue = createTaskQueue({ provider: memory.provider(), tasks: [task] });
  const jobId = await queue.enqueue(task, 1, { runAt: new Date(Date.now() + aWeekMs) });
  queue.startWorker();
  expect(await queue.get(jobId)).toMatchObject({ state: "pending" });
  memory.advance(aWeekMs);
  for (let turn = 0; turn < 1000; turn += 1) {
    if ((await queue.get(jobId))?.state === "succeeded") break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await queue.get(jobId)).toMatchObject({ state: "succeeded" });
  await queue.close();
});

test("an input that its producer changes afterwards does not change the job, nor does one that a handler changes", async () => {
  const seen: unknown[] = [];
  const task = defineTask({
    name: "t",
    input: v.array(v.number()),
    handler(numbers, { attempt }) {
      seen.push([...numbers]);
      numbers.push(99);
      if (attempt === 1) throw new Error("again");
    },
  });
  const memory = createMemoryTasks();
  const queue = createTaskQueue({ provider: memory.provider(), tasks: [task] });
  const input = [1];
  await queue.enqueue(task, input);
  input.push(2);
  await memory.drain(queue);
  expect(seen).toEqual([[1], [1]]);
  await queue.close();
});

test("a caller's transaction is refused", async () => {
  const { task } = flaky(0);
  const queue = createTaskQueue({ provider: createMemoryTasks().provider(), tasks: [task] });
  await expect(queue.enqueue(task, 1, { transaction: {} })).rejects.toMatchObject({
    code: "invalid-options",
  });
  await queue.close();
});
