import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonValue } from "../../capability/index.ts";
import { createTaskQueue } from "../create-task-queue.ts";
import { defineTask, type Task, type TaskContext, type TaskDefinition } from "../define-task.ts";
import type { JobState, JobStatus, TaskProvider } from "../provider.ts";
import type { TaskQueue } from "../task-queue.ts";
import type { ProviderConformance, ProviderUnderTest } from "./provider-under-test.ts";
import { afterEach } from "./test-runner.ts";

/** Takes any JSON as it is. */
export const anyJson: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "conformance", validate: (value) => ({ value }) },
};

type JsonTask<Name extends string = string> = Task<Name, typeof anyJson, unknown>;
type Settings = Pick<TaskDefinition<string, typeof anyJson, unknown, unknown>, "maxAttempts" | "retry">;

/** A run of a handler that goes on until the test ends it. */
export interface HeldRun extends TaskContext {
  readonly input: JsonValue;
  finish(value?: JsonValue): void;
  fail(): void;
}

export interface HeldTask<Name extends string> {
  readonly task: JsonTask<Name>;
  /** Every run so far, in the order of their entry. */
  readonly runs: readonly HeldRun[];
  /** The next run that enters, or has entered and was not asked for. */
  next(): Promise<HeldRun>;
}

/** A task whose handler waits for the test. What it finishes with becomes the result. */
export function heldTask<const Name extends string>(name: Name, settings: Settings = {}): HeldTask<Name> {
  const runs: HeldRun[] = [];
  const arrived: HeldRun[] = [];
  const waiting: ((run: HeldRun) => void)[] = [];
  const task = defineTask({
    ...settings,
    name,
    input: anyJson,
    handler(input, context) {
      const end = Promise.withResolvers<unknown>();
      const run: HeldRun = {
        ...context,
        input: input as JsonValue,
        finish: (value = null) => end.resolve(value),
        fail: () => end.reject(new Error("told to fail")),
      };
      runs.push(run);
      const waiter = waiting.shift();
      if (waiter) waiter(run);
      else arrived.push(run);
      return end.promise;
    },
    result: (value) => value,
  });
  return {
    task,
    runs,
    next() {
      const run = arrived.shift();
      return run
        ? Promise.resolve(run)
        : within(new Promise((resolve) => waiting.push(resolve)), `a run of ${name}`);
    },
  };
}

/** A task that answers at once. Without `handler` it succeeds. */
export function quickTask<const Name extends string>(
  name: Name,
  handler: (input: JsonValue, context: TaskContext) => JsonValue | Promise<JsonValue> = () => null,
  settings: Settings = {},
): JsonTask<Name> {
  return defineTask({
    ...settings,
    name,
    input: anyJson,
    handler: (input, context): unknown => handler(input as JsonValue, context),
    result: (value) => value,
  });
}

export interface Rig {
  readonly under: ProviderUnderTest;
  /** A queue on a provider of its own. */
  queue<const Tasks extends readonly Task[]>(...tasks: Tasks): TaskQueue<Tasks[number]>;
  provider(): TaskProvider;
}

/** To be called in a `describe`: hands out a fresh rig for each test and closes everything after it. */
export function useRigs({ open }: ProviderConformance): () => Promise<Rig> {
  const closes: (() => Promise<void>)[] = [];
  afterEach(async () => {
    const failures: unknown[] = [];
    for (const close of closes.splice(0).reverse())
      await close().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw new AggregateError(failures, "what the test had opened did not close");
  }, 30_000);
  return async () => {
    const under = await open();
    closes.push(() => under.close());
    const rig: Rig = {
      under,
      provider() {
        const provider = under.provider();
        closes.push(() => provider.close());
        return provider;
      },
      queue(...tasks) {
        const queue = createTaskQueue({ provider: under.provider(), tasks, logger: false });
        closes.push(() => queue.close({ drainMs: 0 }));
        return queue;
      },
    };
    return rig;
  };
}

/** The job's status once it is in that state. */
export async function becomes(queue: TaskQueue, jobId: string, state: JobState): Promise<JobStatus> {
  return statusWhen(queue, jobId, (status) => status.state === state, `job ${jobId} to be ${state}`);
}

export async function statusWhen(
  queue: TaskQueue,
  jobId: string,
  fits: (status: JobStatus) => boolean,
  what: string,
): Promise<JobStatus> {
  let last: JobStatus | null = null;
  for (const deadline = Date.now() + 12_000; Date.now() < deadline; await Bun.sleep(15)) {
    last = await queue.get(jobId);
    if (last !== null && fits(last)) return last;
  }
  throw new Error(`waited in vain for ${what}: ${JSON.stringify(last)}`);
}

/** Rejects, saying what was waited for, instead of letting the test time out. */
export async function within<T>(promise: Promise<T>, what: string, milliseconds = 12_000): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return within(
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
    "the signal to abort",
  );
}

/** The code of the TaskQueueError that a promise rejects with; "none" when it resolves. */
export async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "none",
    (error: unknown) => (error as { readonly code?: unknown }).code,
  );
}
