import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonValue } from "../capability/index.ts";
import { checkOptions } from "./check-options.ts";
import { consoleLogger } from "./console-logger.ts";
import { isTask, isTaskName, type Task } from "./define-task.ts";
import { createExecute } from "./execute-task.ts";
import { copyPlainJson, inputLimits } from "./json-value.ts";
import { quietLogger } from "./logger.ts";
import type { TaskProvider, TaskWorker } from "./provider.ts";
import {
  askProvider,
  Holder,
  Identity,
  isJobId,
  JobId,
  Outcome,
  PageOf,
  Retried,
  StatusOf,
} from "./provider-answers.ts";
import { Batch, Close, DeduplicationKey, Enqueue, List, QueueOptions, Worker } from "./queue-options.ts";
import type { TaskQueue, TaskQueueOptions } from "./task-queue.ts";
import { SafeCause, type TaskErrorPhase, TaskQueueError } from "./task-queue-error.ts";
import { loadTelemetry } from "./telemetry.ts";
import { validateInput } from "./validate-input.ts";
import { WorkerSet } from "./worker-set.ts";

/**
 * A queue over a provider. Starts nothing: `startWorker` does.
 *
 * @throws TaskQueueError `invalid-options`; `cause` names the key.
 * @example
 * const queue = createTaskQueue({ provider, tasks: [sendReport] });
 * const jobId = await queue.enqueue(sendReport, { reportId: "r-1" }, { deduplicationKey: "report/r-1" });
 * const worker = queue.startWorker({ concurrency: 10, timeoutMs: 60_000 });
 */
export function createTaskQueue<const Tasks extends readonly Task[]>(
  options: TaskQueueOptions<Tasks>,
): TaskQueue<Tasks[number]> {
  const { provider, tasks, logger } = checkOptions(QueueOptions, options, "create");
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const quiet = quietLogger(logger === false ? undefined : (logger ?? consoleLogger));
  const handlersLog = logger !== undefined && logger !== false;
  const execute = createExecute({ tasks: byName, logger: quiet, handlersLog });
  const workers = new WorkerSet(quiet);
  let closing: Promise<void> | undefined;

  const refuseWhenClosed = (phase: TaskErrorPhase): void => {
    if (closing) throw new TaskQueueError("closed", phase);
  };
  const own = (task: unknown, phase: TaskErrorPhase): Task => {
    const name = isTask(task) ? task.name : task;
    const found = typeof name === "string" ? byName.get(name) : undefined;
    if (found !== undefined && (found === task || name === task)) return found;
    const known = [...byName.keys()].join(", ");
    const what = describeTask(task);
    const cause = new SafeCause(
      found === undefined
        ? `expected one of this queue's tasks (${known}), got ${what}`
        : `${what} is not the object that the queue was created with: define a task once and import it`,
    );
    throw new TaskQueueError("invalid-task", phase, { cause });
  };
  const start = (workerOptions: Parameters<TaskProvider["startWorker"]>[1]): TaskWorker => {
    try {
      return workers.add(provider.startWorker(execute, workerOptions));
    } catch (cause) {
      throw cause instanceof TaskQueueError
        ? cause
        : new TaskQueueError("provider-unavailable", "work", { cause });
    }
  };

  return Object.freeze<TaskQueue<Task>>({
    async enqueue(task, input, enqueueOptions = {}) {
      refuseWhenClosed("enqueue");
      if (!isTask(task)) throw refusedTask(task);
      const { name, maxAttempts, retry, input: schema } = own(task, "enqueue");
      const checked = checkOptions(Enqueue, enqueueOptions, "enqueue");
      const raw = await acceptedInput(schema, input);
      const telemetry = await loadTelemetry();
      refuseWhenClosed("enqueue"); // a schema may take its time
      return telemetry.produce(name, (traceparent) =>
        askProvider("enqueue", JobId, () =>
          provider.enqueue({
            ...checked,
            task: name,
            input: raw,
            maxAttempts,
            ...(retry === undefined ? {} : { retry }),
            ...(traceparent === undefined ? {} : { traceparent }),
          }),
        ),
      );
    },
    async get(jobId) {
      refuseWhenClosed("get");
      if (!isJobId(jobId)) return null;
      return askProvider("get", StatusOf(jobId), () => provider.get(jobId));
    },
    async list(query) {
      refuseWhenClosed("list");
      const { tasks: wanted, ...page } = checkOptions(List, query, "list");
      const names = [...new Set(wanted.map((task) => own(task, "list").name))];
      if (provider.list === undefined) throw new TaskQueueError("unsupported", "list");
      const asked = { ...page, tasks: names };
      return askProvider("list", PageOf(asked), async () => provider.list?.(asked));
    },
    async cancel(jobId) {
      refuseWhenClosed("cancel");
      if (!isJobId(jobId)) return "missing";
      return askProvider("cancel", Outcome, () => provider.cancel(jobId));
    },
    async retry(jobId) {
      refuseWhenClosed("retry");
      if (!isJobId(jobId)) return false;
      return askProvider("retry", Retried, () => provider.retry(jobId));
    },
    async identity() {
      refuseWhenClosed("identity");
      if (provider.identity === undefined) throw new TaskQueueError("unsupported", "identity");
      return askProvider("identity", Identity, async () => provider.identity?.());
    },
    async lookupDeduplicationKey(key) {
      refuseWhenClosed("lookup");
      const checked = checkOptions(DeduplicationKey, key, "lookup");
      if (provider.lookupDeduplicationKey === undefined) throw new TaskQueueError("unsupported", "lookup");
      return askProvider("lookup", Holder, async () => provider.lookupDeduplicationKey?.(checked));
    },
    startWorker(workerOptions = {}) {
      refuseWhenClosed("work");
      return start(checkOptions(Worker, workerOptions, "work"));
    },
    async runBatch(batchOptions = {}) {
      refuseWhenClosed("work");
      await start(checkOptions(Batch, batchOptions, "work")).done;
    },
    close(closeOptions = {}) {
      if (closing) return closing;
      const { drainMs } = checkOptions(Close, closeOptions, "close");
      closing = workers.closeThen(drainMs, () => provider.close());
      return closing;
    },
  });
}

/** A name is enough to list by, and not to enqueue by: the input's schema comes with the task. */
function refusedTask(task: unknown): TaskQueueError {
  const cause = new SafeCause(`expected a task from defineTask, got ${describeTask(task)}`);
  return new TaskQueueError("invalid-task", "enqueue", { cause });
}

/** A name that is none may be anything, an input in the wrong place for example. */
function describeTask(task: unknown): string {
  const name = isTask(task) ? task.name : task;
  if (typeof name !== "string") return name === null ? "null" : `a value of type ${typeof name}`;
  return isTaskName(name) ? `"${name}"` : `a text of ${name.length} characters that is no task's name`;
}

/** The raw JSON to store, once the schema has accepted it. What the schema makes of it is not stored: it will be made again. */
async function acceptedInput(schema: StandardSchemaV1, input: unknown): Promise<JsonValue> {
  try {
    const raw = copyPlainJson(input, inputLimits);
    await validateInput(schema, raw, inputLimits);
    return raw;
  } catch (cause) {
    throw new TaskQueueError("invalid-input", "enqueue", { cause });
  }
}
