import { expect, test } from "bun:test";
import * as v from "valibot";
import type { AppPlugin, SetupContext } from "../capability/index.ts";
import { createTaskPlugin } from "./create-task-plugin.ts";
import { defineTask } from "./define-task.ts";
import type { TaskProvider } from "./provider.ts";
import { MemoryProvider } from "./testing/memory-provider.ts";

const ran = Promise.withResolvers<string>();
const task = defineTask({ name: "task", input: v.string(), handler: (input) => ran.resolve(input) });

/** As much of an application as a plugin sees: the values it requires, and finalisers that run in reverse. */
async function start<Value>(plugin: AppPlugin<Value>, values: ReadonlyMap<AppPlugin, unknown> = new Map()) {
  const finalisers: (() => void | Promise<void>)[] = [];
  const context: SetupContext = {
    get: <T>(required: AppPlugin<T>) => values.get(required) as T,
    onCleanup: (finaliser) => void finalisers.push(finaliser),
  };
  const stop = async (): Promise<void> => {
    for (const finaliser of finalisers.reverse()) await finaliser();
  };
  try {
    return { value: await plugin.setup(context), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

test("a plugin with a worker runs jobs from its set-up to the application's stop", async () => {
  const provider = new MemoryProvider();
  const plugin = createTaskPlugin({
    id: "tasks",
    tasks: [task],
    connect: () => provider,
    worker: { concurrency: 2 },
  });
  const { value: queue, stop } = await start(plugin);
  await queue.enqueue(task, "hello");
  expect(await ran.promise).toBe("hello");
  await stop();
  expect(provider.closed).toBe(1);
  expect(queue.get(Bun.randomUUIDv7())).rejects.toMatchObject({ code: "closed" });
});

test("a plugin without a worker only produces", async () => {
  const provider = new MemoryProvider();
  provider.startWorker = () => {
    throw new Error("started");
  };
  const { value: queue, stop } = await start(
    createTaskPlugin({ id: "tasks", tasks: [task], connect: () => provider }),
  );
  await queue.enqueue(task, "x");
  await stop();
});

test("an early close and the application's stop share one disposer", async () => {
  const provider = new MemoryProvider();
  const { value: queue, stop } = await start(
    createTaskPlugin({ id: "tasks", tasks: [task], connect: async () => provider }),
  );
  const early = queue.close();
  expect(queue.close()).toBe(early);
  await Promise.all([early, stop()]);
  expect(provider.closed).toBe(1);
});

test("connect reads what the plugin requires", async () => {
  const settings: AppPlugin<{ queue: string }> = {
    id: "settings",
    requires: [],
    setup: () => ({ queue: "q" }),
  };
  const seen: unknown[] = [];
  const plugin = createTaskPlugin({
    id: "tasks",
    requires: [settings],
    tasks: [task],
    connect(context) {
      seen.push(context.get(settings));
      return new MemoryProvider();
    },
  });
  expect(plugin).toMatchObject({ id: "tasks", requires: [settings] });
  const { stop } = await start(plugin, new Map([[settings, { queue: "q" }]]));
  await stop();
  expect(seen).toEqual([{ queue: "q" }]);
});

test("a set-up that fails closes what it opened, and tells both failures when that fails too", async () => {
  const provider = new MemoryProvider();
  provider.startWorker = () => {
    throw new Error("no worker");
  };
  const rolledBack = createTaskPlugin({ id: "tasks", tasks: [task], connect: () => provider, worker: {} });
  await expect(start(rolledBack)).rejects.toMatchObject({ code: "provider-unavailable", phase: "work" });
  expect(provider.closed).toBe(1);

  const half = { close: () => Promise.reject(new Error("close")) } as unknown as TaskProvider;
  const failed = await start(createTaskPlugin({ id: "tasks", tasks: [task], connect: () => half })).catch(
    (e: unknown) => e,
  );
  expect(failed).toBeInstanceOf(AggregateError);
  expect((failed as AggregateError).errors.map(String)).toEqual([
    "TaskQueueError: the queue could not be created: an option is not valid: provider: expected a TaskProvider, got a value of type object",
    "Error: close",
  ]);
});

test.each<[string, object]>([
  ["an empty id", { id: "" }],
  ["no connect", { connect: undefined }],
  ["a worker's unknown option", { worker: { threads: 3 } }],
  ["a negative drain", { worker: { drainMs: -1 } }],
])("%s is refused before anything is opened", (_name, changes) => {
  const options = { id: "tasks", tasks: [task], connect: () => new MemoryProvider(), ...changes };
  expect(() => createTaskPlugin(options as never)).toThrow(
    expect.objectContaining({ code: "invalid-options" }),
  );
});
