import { expect, test } from "bun:test";
import * as v from "valibot";
import { createTaskQueue } from "./create-task-queue.ts";
import { defineTask } from "./define-task.ts";
import type { TaskProvider } from "./provider.ts";
import { TaskQueueError } from "./task-queue-error.ts";
import { MemoryProvider } from "./testing/memory-provider.ts";

const double = defineTask({
  name: "double",
  input: v.object({ n: v.pipe(v.string(), v.transform(Number)), tag: v.optional(v.string()) }),
  handler: ({ n }) => n * 2,
  result: (value) => ({ value }),
});
const silent = defineTask({ name: "silent", input: v.string(), handler: () => "dropped", maxAttempts: 1 });
const broken = defineTask({
  name: "broken",
  input: v.string(),
  handler: () => {
    throw new Error("token=hunter2");
  },
  maxAttempts: 1,
});
const tasks = [double, silent, broken] as const;

function setup(changes: Partial<TaskProvider> = {}) {
  const provider = new MemoryProvider();
  Object.assign(provider, changes);
  const lines: { readonly fields: object; readonly message: string }[] = [];
  const write = (fields: object, message: string): void => void lines.push({ fields, message });
  const logger = { info: write, warn: write, error: write };
  return { provider, lines, queue: createTaskQueue({ provider, tasks, logger }) };
}

const failure = async (work: () => unknown): Promise<TaskQueueError> => {
  try {
    await work();
  } catch (error) {
    return error as TaskQueueError;
  }
  throw new Error("expected a failure");
};

test("the raw input is stored, and its transform is applied once at each end", async () => {
  const { queue, provider } = setup();
  const jobId = await queue.enqueue(double, { n: "21" });
  expect(provider.enqueued).toEqual([{ task: "double", input: { n: "21" }, maxAttempts: 3 }]);
  await queue.runBatch();
  expect(await queue.get(jobId)).toEqual({
    jobId,
    task: "double",
    state: "succeeded",
    attempt: 1,
    maxAttempts: 3,
    cancelRequested: false,
    result: { value: 42 },
    error: null,
  });
});

test("what a handler returns is discarded without a projection", async () => {
  const { queue } = setup();
  const jobId = await queue.enqueue(silent, "x");
  await queue.runBatch();
  expect(await queue.get(jobId)).toMatchObject({ state: "succeeded", result: null });
});

test("a stored error is a code, and the real one goes to the logger only", async () => {
  const { queue, lines } = setup();
  const jobId = await queue.enqueue(broken, "x");
  await queue.runBatch();
  const status = await queue.get(jobId);
  expect(status).toMatchObject({ state: "failed", error: "handler-failed", result: null });
  expect(JSON.stringify(status)).not.toContain("hunter2");
  expect(lines).toEqual([
    {
      fields: { jobId, task: "broken", attempt: 1, err: new Error("token=hunter2") },
      message: "the handler failed",
    },
  ]);
});

test("an input that its schema or JSON refuses is never sent, and the cause names the place", async () => {
  const { queue, provider } = setup();
  const bySchema = await failure(() => queue.enqueue(double, { n: 3 as never }));
  expect(bySchema).toMatchObject({ code: "invalid-input", phase: "enqueue" });
  expect((bySchema.cause as Error).message).toBe("the schema refuses $.n");
  const byJson = await failure(() => queue.enqueue(double, { n: "1", tag: undefined }));
  expect((byJson.cause as Error).message).toBe("$.tag: undefined is not JSON");
  const tooLong = await failure(() => queue.enqueue(silent, "é".repeat(32_768)));
  expect(tooLong.code).toBe("invalid-input");
  const notANumber = await failure(() => queue.enqueue(double, { n: "x" })); // NaN is no JSON either
  expect(notANumber.code).toBe("invalid-input");
  expect(provider.enqueued).toEqual([]);
});

test("a task is known by its object, not by its name", async () => {
  const { queue } = setup();
  const twin = defineTask({ name: "silent", input: v.string(), handler: () => {} });
  expect(await failure(() => queue.enqueue(twin as never, "x" as never))).toMatchObject({
    code: "invalid-task",
  });
  expect(await failure(() => queue.enqueue("silent" as never, "x" as never))).toMatchObject({
    code: "invalid-task",
  });
  expect(await failure(() => queue.list({ tasks: [twin as never] }))).toMatchObject({ code: "invalid-task" });
});

test.each<[string, object]>([
  ["an invalid date", { runAt: new Date(Number.NaN) }],
  ["a date beyond the year 9999", { runAt: new Date("+010000-01-01") }],
  ["an empty key", { deduplicationKey: "" }],
  ["a key of 257 bytes", { deduplicationKey: `x${"é".repeat(128)}` }],
  ["a key with U+0000", { deduplicationKey: "a\0" }],
  ["an unknown option", { delay: 3 }],
])("enqueue refuses %s", async (_name, options) => {
  const { queue } = setup();
  expect(await failure(() => queue.enqueue(silent, "x", options))).toMatchObject({
    code: "invalid-options",
    phase: "enqueue",
  });
});

test("options reach the provider as they are", async () => {
  const { queue, provider } = setup();
  const runAt = new Date(Date.now() + 5000);
  const transaction = { of: "the caller" };
  await queue.enqueue(silent, "x", { runAt, deduplicationKey: "é".repeat(128), transaction });
  expect(provider.enqueued[0]).toMatchObject({ runAt, deduplicationKey: "é".repeat(128), maxAttempts: 1 });
  expect(provider.enqueued[0]?.transaction).toBe(transaction);
});

test("an option that is undefined counts as left out", async () => {
  const provider = new MemoryProvider();
  const queue = createTaskQueue({ provider, tasks, logger: undefined } as never) as ReturnType<
    typeof setup
  >["queue"];
  await queue.enqueue(silent, "x", { runAt: undefined, deduplicationKey: undefined } as never);
  expect(provider.enqueued).toEqual([{ task: "silent", input: "x", maxAttempts: 1 }]);
});

test("a key is looked up without writing", async () => {
  const { queue, provider } = setup();
  expect(await queue.lookupDeduplicationKey("k")).toBeNull();
  const jobId = await queue.enqueue(silent, "x", { deduplicationKey: "k" });
  expect(await queue.enqueue(silent, "x", { deduplicationKey: "k" })).toBe(jobId);
  expect(await failure(() => queue.enqueue(silent, "y", { deduplicationKey: "k" }))).toMatchObject({
    code: "deduplication-conflict",
  });
  expect(await queue.lookupDeduplicationKey("k")).toMatchObject({ jobId, status: { state: "pending" } });
  provider.backend.jobs.delete(jobId);
  expect(await queue.lookupDeduplicationKey("k")).toEqual({ jobId, status: null });
});

test("cancel, retry and list answer by the job's state, and a malformed id names no job", async () => {
  const { queue } = setup();
  const first = await queue.enqueue(silent, "x");
  const second = await queue.enqueue(broken, "x");
  expect(await queue.cancel(first)).toBe("cancelled");
  expect(await queue.cancel(first)).toBe("terminal");
  await queue.runBatch();
  expect(await queue.retry(second)).toBe(true);
  expect(await queue.retry(second)).toBe(false);
  expect([await queue.get("x"), await queue.cancel("x"), await queue.retry("x")]).toEqual([
    null,
    "missing",
    false,
  ]);
  const page = await queue.list({ tasks: [silent, "broken"], limit: 1 });
  expect(page).toMatchObject({ jobs: [{ jobId: first, task: "silent", state: "cancelled" }], next: first });
  expect(Object.keys(page.jobs[0] as object)).not.toContain("result");
  const rest = await queue.list({ tasks: [silent, broken], after: first });
  expect(rest).toMatchObject({ jobs: [{ jobId: second }], next: null });
});

test.each<[string, Partial<TaskProvider>, (queue: ReturnType<typeof setup>["queue"]) => Promise<unknown>]>([
  ["an id that is no UUID", { enqueue: async () => "7" }, (queue) => queue.enqueue(silent, "x")],
  ["another job", { get: async () => status(Bun.randomUUIDv7()) }, (queue) => queue.get(Bun.randomUUIDv7())],
  [
    "an unknown outcome",
    { cancel: async () => "maybe" as never },
    (queue) => queue.cancel(Bun.randomUUIDv7()),
  ],
  [
    "a task that was not named",
    { list: async () => page("broken") },
    (queue) => queue.list({ tasks: [silent] }),
  ],
  [
    "more than a page",
    { list: async () => page("silent", "silent") },
    (queue) => queue.list({ tasks: [silent], limit: 1 }),
  ],
  [
    "a page in another order",
    { list: async () => ({ jobs: page("silent", "silent").jobs.reverse(), next: null }) },
    (queue) => queue.list({ tasks: [silent] }),
  ],
  [
    "an identity without a UUID",
    { identity: async () => ({ kind: "x", id: "1" }) },
    (queue) => queue.identity(),
  ],
])("a provider that answers %s broke its contract", async (_name, changes, ask) => {
  const { queue } = setup(changes);
  const refusal = await failure(() => ask(queue));
  expect(refusal.code).toBe("provider-unavailable");
  expect((refusal.cause as Error).message).toContain("the provider broke its contract");
});

test("what a provider throws is in the cause, and its own TaskQueueErrors pass", async () => {
  const driver = new Error("connect ECONNREFUSED");
  const expired = new TaskQueueError("job-expired", "enqueue");
  const { queue } = setup({ get: () => Promise.reject(driver), enqueue: () => Promise.reject(expired) });
  const refusal = await failure(() => queue.get(Bun.randomUUIDv7()));
  expect(refusal).toMatchObject({ code: "provider-unavailable", phase: "get", cause: driver });
  expect(refusal.message).not.toContain("ECONNREFUSED");
  expect(await failure(() => queue.enqueue(silent, "x"))).toBe(expired);
});

test("what a provider does not offer is unsupported", async () => {
  const none = { list: undefined, identity: undefined, lookupDeduplicationKey: undefined } as object;
  const { queue } = setup(none);
  for (const ask of [
    () => queue.list({ tasks: [silent] }),
    () => queue.identity(),
    () => queue.lookupDeduplicationKey("k"),
  ])
    expect(await failure(ask)).toMatchObject({ code: "unsupported" });
});

test("a worker runs until it is stopped; close stops it, closes the provider once, and refuses what comes after", async () => {
  const { queue, provider } = setup();
  const worker = queue.startWorker({ concurrency: 2, timeoutMs: 1000 });
  const closing = queue.close();
  expect(queue.close()).toBe(closing);
  await closing;
  await worker.done;
  expect(provider.closed).toBe(1);
  for (const ask of [
    () => queue.enqueue(silent, "x"),
    () => queue.get(Bun.randomUUIDv7()),
    () => queue.list({ tasks: [silent] }),
    () => queue.cancel(Bun.randomUUIDv7()),
    () => queue.retry(Bun.randomUUIDv7()),
    () => queue.identity(),
    () => queue.lookupDeduplicationKey("k"),
    () => queue.runBatch(),
    async () => queue.startWorker(),
  ])
    expect(await failure(ask)).toMatchObject({ code: "closed" });
});

test("close with drainMs aborts what does not end, reports what ignores that, and closes", async () => {
  const provider = new MemoryProvider();
  const running = Promise.withResolvers<AbortSignal>();
  const stuck = defineTask({
    name: "stuck",
    input: v.string(),
    handler: (_input, { signal }) => {
      running.resolve(signal);
      return new Promise(() => {});
    },
  });
  const told: unknown[] = [];
  provider.startWorker = (execute, options) =>
    Reflect.apply(MemoryProvider.prototype.startWorker, provider, [
      execute,
      { ...options, onError: (e: unknown) => told.push(e) },
    ]);
  const queue = createTaskQueue({ provider, tasks: [stuck] });
  await queue.enqueue(stuck, "x");
  queue.startWorker();
  const signal = await running.promise;
  await queue.close({ drainMs: 10 });
  expect(signal.reason).toMatchObject({ name: "WorkerStopping" });
  expect(told.map((error) => (error as Error).name)).toEqual(["HandlerLeft"]);
  expect(provider.closed).toBe(1);
});

test("a worker and a provider that both fail to close are both told", async () => {
  const { queue } = setup({
    startWorker: () => ({ done: new Promise(() => {}), stop: () => Promise.reject(new Error("stop")) }),
    close: () => Promise.reject(new Error("close")),
  });
  queue.startWorker();
  const both = (await failure(() => queue.close())) as unknown as AggregateError;
  expect(both).toBeInstanceOf(AggregateError);
  expect(both.errors.map(({ cause }: Error) => String(cause))).toEqual(["Error: stop", "Error: close"]);
});

test.each<[string, object]>([
  ["no tasks", { tasks: [] }],
  [
    "two tasks of one name",
    { tasks: [silent, defineTask({ name: "silent", input: v.string(), handler: () => {} })] },
  ],
  ["a task that is none", { tasks: [{ ...silent }] }],
  ["no provider", { provider: {} }],
  ["a logger that is none", { logger: {} }],
  ["an unknown option", { queue: "x" }],
])("createTaskQueue refuses %s", async (_name, changes) => {
  const options = { provider: new MemoryProvider(), tasks: [silent], ...changes };
  expect(await failure(() => createTaskQueue(options as never))).toMatchObject({
    code: "invalid-options",
    phase: "create",
  });
});

test("what is refused is named in the message: an unknown task, a second one of a name, an unknown option with the known ones", async () => {
  const { queue } = setup();
  const stranger = defineTask({ name: "stranger", input: v.string(), handler: () => {} });
  const twin = defineTask({ name: "silent", input: v.string(), handler: () => {} });
  const ask = queue as unknown as {
    enqueue(task: unknown, input: unknown, options?: object): Promise<string>;
    list(query: object): Promise<unknown>;
    startWorker(options: object): unknown;
  };
  const messages = await Promise.all(
    [
      () => ask.enqueue(stranger, "x"),
      () => ask.enqueue(twin, "x"),
      () => ask.enqueue("silent", "x"),
      () => ask.list({ tasks: ["mail.sent"] }),
      () => ask.startWorker({ concurency: 2 }),
      () => ask.enqueue(silent, "x", { runAt: "tomorrow" }),
      () => createTaskQueue({ provider: new MemoryProvider(), tasks: [silent, twin] as never }),
      () => defineTask({ name: "t", input: v.string(), handler: () => {}, retry: { maxDelaySeconds: 5 } }),
      () => defineTask({ name: "t", input: v.string(), handler: () => {}, retry: { delay: 5 } as never }),
    ].map(async (work) => (await failure(work)).message),
  );
  const said = [
    `expected one of this queue's tasks (double, silent, broken), got "stranger"`,
    `"silent" is not the object that the queue was created with`,
    `expected a task from defineTask, got "silent"`,
    `expected one of this queue's tasks (double, silent, broken), got "mail.sent"`,
    "concurency: no such key; known are concurrency, timeoutMs",
    "runAt: expected a valid Date, got a text of 8 characters",
    "tasks: expected unique names, got twice silent",
    "retry: maxDelaySeconds needs backoff: true",
    "retry.delay: no such key; known are backoff, delaySeconds, maxDelaySeconds",
  ];
  for (const [index, words] of said.entries()) expect(messages[index]).toContain(words);
});

test.each([{ concurrency: 0 }, { concurrency: 101 }, { timeoutMs: 0 }, { maxJobs: 1 }])(
  "startWorker refuses %j",
  async (options) => {
    expect(await failure(() => setup().queue.startWorker(options as object))).toMatchObject({
      code: "invalid-options",
    });
  },
);

function status(jobId: string) {
  return { ...summary("silent"), jobId, result: null, error: null };
}

function page(...names: string[]) {
  return { jobs: names.map(summary), next: null };
}

function summary(task: string) {
  const jobId = Bun.randomUUIDv7();
  return { jobId, task, state: "pending" as const, attempt: 0, maxAttempts: 1, cancelRequested: false };
}
