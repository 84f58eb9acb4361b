import * as v from "valibot";
import type { AppPlugin, SetupContext } from "../capability/index.ts";
import { checkOptions, milliseconds, withoutUndefined, workerFields } from "./check-options.ts";
import { createTaskQueue } from "./create-task-queue.ts";
import type { Task } from "./define-task.ts";
import type { TaskLogger } from "./logger.ts";
import type { TaskProvider } from "./provider.ts";
import type { TaskQueue, WorkerOptions } from "./task-queue.ts";
import { afterFailure } from "./task-queue-error.ts";

export interface TaskPluginOptions<Tasks extends readonly Task[]> {
  /** Tells instances of one process apart. Durable work is told apart by the provider's queue name. */
  readonly id: string;
  readonly requires?: readonly AppPlugin[];
  readonly tasks: Tasks;
  /** Opens the provider. It belongs to the plugin from then on and is closed with it; what the provider borrows is not. */
  readonly connect: (context: SetupContext) => TaskProvider | Promise<TaskProvider>;
  /** Starts a worker with the application. Without it the plugin only produces. */
  readonly worker?: TaskPluginWorker;
  /** As {@link createTaskQueue} takes it. */
  readonly logger?: TaskLogger | false;
}

export interface TaskPluginWorker extends WorkerOptions {
  /** How long a stop waits for handlers before it aborts them, in ms. Too low repeats work; too high delays a deploy. Default 30 000. */
  readonly drainMs?: number;
}

/**
 * A task queue as a plugin; its value is the queue. The application's stop, a roll-back and an early `close()` share one disposer.
 *
 * @example
 * const tasks = createTaskPlugin({
 *   id: "reports/tasks",
 *   requires: [reports],
 *   tasks: [reportTask],
 *   connect: () => createPostgresTaskProvider({ queueName: "reports", connectionString }),
 *   worker: { concurrency: 4, timeoutMs: 60_000 },
 * });
 */
export function createTaskPlugin<const Tasks extends readonly Task[]>(
  options: TaskPluginOptions<Tasks>,
): AppPlugin<TaskQueue<Tasks[number]>> {
  const { id, requires = [], tasks, connect, worker, logger } = options;
  const { drainMs, ...workerOptions } = checkOptions(
    PluginFields,
    { id, requires, connect, worker: withoutUndefined(worker ?? {}) },
    "create",
  ).worker;
  return Object.freeze<AppPlugin<TaskQueue<Tasks[number]>>>({
    id,
    requires,
    async setup(context) {
      const provider = await connect(context);
      let queue: TaskQueue<Tasks[number]>;
      try {
        queue = createTaskQueue({ provider, tasks, ...(logger === undefined ? {} : { logger }) });
      } catch (error) {
        throw await afterFailure(error, async () => provider.close());
      }
      const close: typeof queue.close = (closeOptions) => queue.close({ drainMs, ...closeOptions });
      context.onCleanup(() => close());
      if (worker !== undefined) queue.startWorker(workerOptions);
      return Object.freeze({ ...queue, close });
    },
  });
}

const PluginFields = v.strictObject({
  id: v.pipe(v.string(), v.minLength(1, "expected a name")),
  requires: v.array(v.unknown()),
  connect: v.custom((value) => typeof value === "function", "expected a function"),
  worker: v.strictObject({ ...workerFields, drainMs: v.optional(milliseconds, 30_000) }),
});
