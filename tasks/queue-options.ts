import * as v from "valibot";
import { having, integer, milliseconds, workerFields } from "./check-options.ts";
import { isTask, type Task } from "./define-task.ts";
import type { TaskLogger } from "./logger.ts";
import type { ProviderWorkerOptions, TaskProvider } from "./provider.ts";
import { isJobId } from "./provider-answers.ts";
import type { CloseOptions, EnqueueOptions, TaskQueueOptions } from "./task-queue.ts";

/** Options of `createTaskQueue`. */
export const QueueOptions: v.GenericSchema<unknown, TaskQueueOptions<readonly Task[]>> = v.strictObject({
  provider: having<TaskProvider>("a TaskProvider", [
    "enqueue",
    "get",
    "cancel",
    "retry",
    "startWorker",
    "close",
  ]),
  tasks: v.pipe(
    v.array(v.custom<Task>(isTask, "expected a task from defineTask")),
    v.minLength(1, "expected at least one task"),
    v.check(
      (tasks) => repeatedNames(tasks).length === 0,
      ({ input }) => `expected unique names, got twice ${repeatedNames(input).join(", ")}`,
    ),
  ),
  logger: v.exactOptional(
    v.union(
      [v.literal(false), having<TaskLogger>("a logger", ["info", "warn", "error"])],
      "expected a logger or false",
    ),
  ),
});

function repeatedNames(tasks: readonly Task[]): string[] {
  const names = tasks.map(({ name }) => name);
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** A deduplication key. */
export const DeduplicationKey: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.check((key) => key.isWellFormed() && !key.includes("\0"), "expected well-formed text without U+0000"),
  v.check((key) => key.length > 0 && Buffer.byteLength(key) <= 256, "expected 1..256 bytes"),
);

/** Options of `enqueue`. */
export const Enqueue: v.GenericSchema<unknown, EnqueueOptions> = v.strictObject({
  runAt: v.exactOptional(
    v.pipe(
      v.date("expected a valid Date"),
      v.check(
        (date) => date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999,
        "expected a year 1..9999",
      ),
    ),
  ),
  deduplicationKey: v.exactOptional(DeduplicationKey),
  transaction: v.exactOptional(v.unknown()),
});

/** The query of `list`; which tasks are meant is for the queue to say. */
export const List: v.GenericSchema<
  unknown,
  { readonly tasks: readonly unknown[]; readonly limit: number; readonly after?: string }
> = v.strictObject({
  tasks: v.pipe(v.array(v.unknown()), v.minLength(1, "expected at least one task")),
  limit: v.optional(integer(1, 100), 100),
  after: v.exactOptional(v.custom<string>(isJobId, "expected `next` of the page before")),
});

/** Options of `startWorker`. */
export const Worker: v.GenericSchema<unknown, ProviderWorkerOptions> = v.strictObject(workerFields);
/** Options of `runBatch`. */
export const Batch: v.GenericSchema<unknown, ProviderWorkerOptions> = v.strictObject({
  ...workerFields,
  maxJobs: v.optional(integer(1, 100_000), 100),
});
/** Options of `close`. */
export const Close: v.GenericSchema<unknown, CloseOptions> = v.strictObject({
  drainMs: v.exactOptional(milliseconds),
});
