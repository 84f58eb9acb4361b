import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as v from "valibot";
import type { JsonValue } from "../capability/index.ts";
import { describeIssue, integer, withoutUndefined } from "./check-options.ts";
import type { Jsonable, RequireJson } from "./jsonable.ts";
import type { TaskLogger } from "./logger.ts";
import type { RetryPolicy } from "./provider.ts";
import { SafeCause, TaskQueueError } from "./task-queue-error.ts";
import { isStandardSchema } from "./validate-input.ts";

/** What a handler gets beside its input. */
export interface TaskContext {
  readonly jobId: string;
  /** 1 for the first attempt. No business key: a lost claim may use a number up. */
  readonly attempt: number;
  /**
   * Aborts when this attempt should end. `reason.name` says why: `JobCancelled`, `ClaimLost`, `TimedOut` or `WorkerStopping`. Look at
   * it before every effect: also after a blocked event loop it knows whether the claim may still be ours.
   */
  readonly signal: AbortSignal;
  /** The queue's logger with job, task and attempt; absent when the queue has none. */
  readonly logger?: TaskLogger;
}

/** A task as {@link defineTask} made it. A queue knows a task by this very object. */
export interface Task<
  Name extends string = string,
  Schema extends StandardSchemaV1 = StandardSchemaV1,
  Value = unknown,
> {
  readonly name: Name;
  readonly input: Schema;
  readonly maxAttempts: number;
  readonly retry?: RetryPolicy;
  handler(input: StandardSchemaV1.InferOutput<Schema>, context: TaskContext): Value | Promise<Value>;
  result?(value: Value): unknown;
}

/** What a task is made of. */
export interface TaskDefinition<Name extends string, Schema extends StandardSchemaV1, Value, Result> {
  /** `^[a-zA-Z][a-zA-Z0-9_.-]{0,127}$`, unique in a queue. It is stored with every job: renaming a task orphans its jobs. */
  readonly name: Name;
  /** Any Standard Schema v1. It runs at enqueue and again before every attempt: no side effects, the same answer each time. */
  readonly input: Schema &
    RequireJson<StandardSchemaV1.InferInput<Schema>> &
    RequireJson<StandardSchemaV1.InferOutput<Schema>>;
  /** The work. It runs at least once: make its effects repeatable. */
  readonly handler: (
    input: StandardSchemaV1.InferOutput<Schema>,
    context: TaskContext,
  ) => Value | Promise<Value>;
  /** What is stored of the handler's value: JSON, at most 16 KiB. Without it nothing is, and the result is null. */
  readonly result?: (value: Value) => Result & Jsonable<Result>;
  /** 1..100, the first attempt included. Default 3. */
  readonly maxAttempts?: number;
  readonly retry?: {
    /** 1..604 800. Default: the next attempt is due at once. */
    readonly delaySeconds?: number;
    /** True: before attempt n + 1 there are `delaySeconds · 2^(n−1)` and up to as much again by chance: 10 → 10–20, 20–40, … Default false. */
    readonly backoff?: boolean;
    /** 1..604 800, only with `backoff: true`. */
    readonly maxDelaySeconds?: number;
  };
}

/**
 * A task: a name, what it takes, and what it does.
 *
 * @throws TaskQueueError `invalid-task`; `cause` names the field.
 * @example
 * const sendReport = defineTask({
 *   name: "send-report",
 *   input: v.object({ reportId: v.string() }),
 *   handler: async ({ reportId }, { signal }) => send(reportId, signal),
 *   result: (receipt) => ({ receipt: receipt.id }),
 *   retry: { delaySeconds: 10, backoff: true, maxDelaySeconds: 600 },
 * });
 */
export function defineTask<
  const Name extends string,
  Schema extends StandardSchemaV1,
  Value,
  Result = JsonValue,
>(definition: TaskDefinition<Name, Schema, Value, Result>): Task<Name, Schema, Value> {
  const parsed = v.safeParse(
    TaskFields,
    withoutUndefined({ ...definition, retry: withoutUndefined(definition.retry) }),
  );
  if (!parsed.success)
    throw new TaskQueueError("invalid-task", "define", {
      cause: new SafeCause(describeIssue(parsed.issues, TaskFields)),
    });
  const { retry, ...fields } = parsed.output;
  const policy = retryPolicyOf(retry);
  const task = Object.freeze({ ...fields, ...(policy ? { retry: policy } : {}) }) as unknown as Task<
    Name,
    Schema,
    Value
  >;
  defined.add(task);
  return task;
}

/** Whether the value came from {@link defineTask}, so that its fields have been checked. */
export function isTask(value: unknown): value is Task {
  return typeof value === "object" && value !== null && defined.has(value);
}

const namePattern = /^[a-zA-Z][a-zA-Z0-9_.-]{0,127}$/;

/** Whether a text can be the name of a task. */
export function isTaskName(text: string): boolean {
  return namePattern.test(text);
}

/** Without a delay the next attempt is due at once; growth has to start somewhere: at one second. */
function retryPolicyOf(retry: v.InferOutput<typeof TaskFields>["retry"]): RetryPolicy | undefined {
  if (retry === undefined || (retry.delaySeconds === undefined && !retry.backoff)) return undefined;
  return Object.freeze({ ...retry, delaySeconds: retry.delaySeconds ?? 1 });
}

const defined = new WeakSet<object>();

const seconds = integer(1, 604_800);
const aFunction = <T>() => v.custom<T>((value) => typeof value === "function", "expected a function");

const TaskFields = v.strictObject({
  name: v.pipe(v.string(), v.regex(namePattern, "expected ^[a-zA-Z][a-zA-Z0-9_.-]{0,127}$")),
  input: v.custom<StandardSchemaV1>(isStandardSchema, "expected a Standard Schema v1"),
  handler: aFunction<Task["handler"]>(),
  result: v.exactOptional(aFunction<(value: unknown) => unknown>()),
  maxAttempts: v.optional(integer(1, 100), 3),
  retry: v.exactOptional(
    v.pipe(
      v.strictObject({
        delaySeconds: v.exactOptional(seconds),
        backoff: v.optional(v.boolean(), false),
        maxDelaySeconds: v.exactOptional(seconds),
      }),
      v.check(
        (retry) => retry.backoff || retry.maxDelaySeconds === undefined,
        "maxDelaySeconds needs backoff: true",
      ),
    ),
  ),
});
