import * as v from "valibot";
import { type TaskErrorPhase, TaskQueueError } from "./task-queue-error.ts";

/**
 * Options that fit their schema, defaults filled in. A key whose value is undefined counts as left out.
 *
 * @throws TaskQueueError `invalid-options`; `cause` names the key, what was expected and what arrived.
 */
export function checkOptions<Schema extends v.GenericSchema>(
  schema: Schema,
  options: unknown,
  phase: TaskErrorPhase,
): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, withoutUndefined(options));
  if (parsed.success) return parsed.output;
  const cause = new TypeError(describeIssue(parsed.issues));
  throw new TaskQueueError("invalid-options", phase, { cause });
}

/** The object without its members that are undefined; any other value as it is. */
export function withoutUndefined(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

/** The first issue in words. A text that arrived is not quoted: it may be a secret. */
export function describeIssue(
  issues: readonly [v.BaseIssue<unknown>, ...(readonly v.BaseIssue<unknown>[])],
): string {
  const [issue] = issues;
  const key = v.getDotPath(issue) ?? "options";
  if (issue.type === "strict_object")
    return issue.expected === "never" ? `${key}: no such key` : `${key}: missing`;
  const wanted = issue.message.startsWith("Invalid")
    ? `expected ${issue.expected ?? "another value"}`
    : issue.message;
  return `${key}: ${wanted}, got ${shown(issue.input)}`;
}

export function integer(minimum: number, maximum: number): v.GenericSchema<number> {
  const message = `expected an integer ${minimum}..${maximum}`;
  return v.pipe(
    v.number(message),
    v.integer(message),
    v.minValue(minimum, message),
    v.maxValue(maximum, message),
  );
}

/** Any length of time: timers of this layer do not overflow. */
export const milliseconds: v.GenericSchema<number> = integer(0, Number.MAX_SAFE_INTEGER);

/** What every worker takes. */
export const workerFields: {
  readonly concurrency: v.OptionalSchema<v.GenericSchema<number>, 1>;
  readonly timeoutMs: v.ExactOptionalSchema<v.GenericSchema<number>, undefined>;
} = {
  concurrency: v.optional(integer(1, 100), 1),
  timeoutMs: v.exactOptional(integer(1, Number.MAX_SAFE_INTEGER)),
};

/** An object with these methods: what a caller brings of its own. */
export function having<T>(what: string, methods: readonly string[]): v.GenericSchema<T> {
  return v.custom<T>(
    (value) =>
      typeof value === "object" &&
      value !== null &&
      methods.every((name) => typeof (value as Record<string, unknown>)[name] === "function"),
    `expected ${what}`,
  );
}

function shown(value: unknown): string {
  if (typeof value === "string") return `a text of ${value.length} characters`;
  if (typeof value === "number" || typeof value === "boolean" || value === undefined || value === null)
    return String(value);
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}
