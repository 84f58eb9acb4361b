import { expect, spyOn, test } from "bun:test";
import * as v from "valibot";
import { consoleTrouble, describeError } from "./console-logger.ts";
import { createTaskQueue } from "./create-task-queue.ts";
import { defineTask } from "./define-task.ts";
import { createMemoryTasks } from "./memory/index.ts";
import type { TaskProvider } from "./provider.ts";
import type { TaskQueueOptions } from "./task-queue.ts";
import { SafeCause, TaskQueueError } from "./task-queue-error.ts";

const canary = ["CANARY", "console"].join("-");
const failing = defineTask({
  name: "report.render",
  input: v.object({ text: v.string() }),
  handler: () => {
    throw Object.assign(new RangeError(canary), { code: "E_RANGE" });
  },
  maxAttempts: 1,
});

/** What `work` printed on `console.error`. */
async function printedBy(work: () => Promise<void>): Promise<string[]> {
  const lines: string[] = [];
  const spy = spyOn(console, "error").mockImplementation((...parts: unknown[]) => {
    lines.push(parts.map(String).join(" "));
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return lines;
}

async function failOnce(options: Pick<TaskQueueOptions<readonly []>, "logger"> = {}): Promise<string> {
  const queue = createTaskQueue({ provider: createMemoryTasks().provider(), tasks: [failing], ...options });
  const jobId = await queue.enqueue(failing, { text: canary });
  await queue.runBatch();
  await queue.close();
  return jobId;
}

/** A provider whose workers cannot go on. */
function unfitProvider(): TaskProvider {
  const cause = new SafeCause("the schema is missing: run the migration");
  return {
    ...createMemoryTasks().provider(),
    startWorker: () => ({
      done: Promise.reject(new TaskQueueError("invalid-options", "work", { cause })),
      stop: () => Promise.resolve(),
    }),
  };
}

test("without a logger a failure is one line on console.error: what, which task and job, and no word of the handler's", async () => {
  let jobId = "";
  const lines = await printedBy(async () => {
    jobId = await failOnce();
  });
  expect(lines).toEqual([
    `lenso tasks: error: the handler failed (task report.render, jobId ${jobId}, attempt 1): RangeError E_RANGE`,
  ]);
});

test("with logger: false, or with a logger, nothing is printed", async () => {
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  const lines = await printedBy(async () => {
    await failOnce({ logger: false });
    await failOnce({ logger });
  });
  expect(lines).toEqual([]);
});

test("a worker that cannot go on says so, although nobody awaits its done", async () => {
  const queue = createTaskQueue({ provider: unfitProvider(), tasks: [failing] });
  const lines = await printedBy(async () => {
    await queue.startWorker().done.catch(() => {});
    await queue.close();
  });
  expect(lines).toEqual([
    "lenso tasks: error: a worker of the task queue ended with a failure: the worker failed: an option is not valid: " +
      "the schema is missing: run the migration",
  ]);
});

test("trouble of a provider without onError names the queue and the error's code, and quotes no driver", async () => {
  const refused = Object.assign(new Error(`password=${canary}`), { code: "ECONNREFUSED" });
  const lines = await printedBy(async () => consoleTrouble("reports")(refused));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("(queue reports): Error ECONNREFUSED");
  expect(lines[0]).not.toContain(canary);
});

test.each<[string, unknown]>([
  ["one line", new SafeCause("one\nline")],
  ["the job could not be read: the queue is closed", new TaskQueueError("closed", "get")],
  ["Error", Object.assign(new Error(canary), { name: `${canary} as a name` })],
  ["Error", Object.assign(new Error(canary), { code: canary })],
  ["a thrown string", canary],
  ["a thrown object", null],
])("an error of ours is shown by its message, any other by class and code: %s", (shown, error) => {
  expect(describeError(error)).toBe(shown);
});
