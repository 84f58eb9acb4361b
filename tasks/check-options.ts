import * as v from "valibot";
import { SafeCause, type TaskErrorPhase, TaskQueueError } from "./task-queue-error.ts";

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
  const cause = new SafeCause(describeIssue(parsed.issues, schema));
  throw new TaskQueueError("invalid-options", phase, { cause });
}

/** The object without its members that are undefined; any other value as it is. */
export function withoutUndefined(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

/** The first issue in words. A text that arrived is not quoted: it may be a secret. With `schema` an unknown key comes with the known ones. */
export function describeIssue(
  issues: readonly [v.BaseIssue<unknown>, ...(readonly v.BaseIssue<unknown>[])],
  schema?: v.GenericSchema,
): string {
  const [issue] = issues;
  const key = v.getDotPath(issue) ?? "options";
  if (issue.type === "strict_object") {
    if (issue.expected !== "never") return `${key}: missing`;
    const known = schema === undefined ? [] : keysAt(schema, issue.path?.slice(0, -1) ?? []);
    return `${key}: no such key${known.length === 0 ? "" : `; known are ${known.toSorted().join(", ")}`}`;
  }
  const wanted = issue.message.startsWith("Invalid")
    ? `expected ${issue.expected ?? "another value"}`
    : issue.message;
  // What a check of a whole value has to say, it says itself: "got an array" would add nothing.
  return issue.type === "check" && typeof issue.input === "object"
    ? `${key}: ${wanted}`
    : `${key}: ${wanted}, got ${shown(issue.input)}`;
}

/** The keys of the object at a place of a schema. Pipes and optionals are looked through. */
function keysAt(schema: v.GenericSchema, path: readonly v.IssuePathItem[]): string[] {
  let part: SchemaParts | undefined = schema as SchemaParts;
  while (part !== undefined && part.entries === undefined) part = part.wrapped;
  const entries = part?.entries;
  const [first, ...rest] = path;
  if (first === undefined) return Object.keys(entries ?? {});
  const next = entries?.[String(first.key)];
  return next === undefined ? [] : keysAt(next, rest);
}

interface SchemaParts {
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly wrapped?: SchemaParts;
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
