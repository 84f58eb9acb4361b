import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as v from "valibot";
import type { AppPlugin } from "../../capability/index.ts";
import { HostError } from "../host-error.ts";

/** Whether an operation changes anything: `read` does not, `write` may. */
export type OperationEffect = "read" | "write";

/**
 * What a caller may do when an answer was lost. `safe`: send the same input again, once or ten times, with the same effect as once.
 * `look-first`: find out what became of the first call, then decide. `never`: a second call is a second effect, and nothing tells
 * whether there was a first.
 */
export type OperationRetry = "safe" | "look-first" | "never";

/**
 * What becomes of the method when its call is cancelled. `cooperative`: it ends soon after its signal has aborted, so the call waits
 * for it and tells what it did. `ignored`: it runs to its end unseen; only the caller stops waiting.
 */
export type OperationCancellation = "cooperative" | "ignored";

/** What a method gets beside its input. */
export interface OperationContext {
  /** Aborts when the caller no longer wants the answer. */
  readonly signal: AbortSignal;
}

/** A method of a plugin's value that may be called from outside, with all that a caller has to know before. */
export interface Operation {
  readonly plugin: AppPlugin;
  readonly method: string;
  readonly input: StandardSchemaV1;
  readonly description: string;
  readonly effect: OperationEffect;
  readonly destructive: boolean;
  readonly retry: OperationRetry;
  readonly cancellation: OperationCancellation;
  readonly confirmation?: string;
  readonly approval?: string;
}

/** The methods of a plugin's value that take what the schema makes of an input. */
export type OperationMethod<Value, Schema extends StandardSchemaV1> = {
  [Key in keyof Value]: Value[Key] extends (
    input: StandardSchemaV1.InferOutput<Schema>,
    context: OperationContext,
  ) => unknown
    ? Key
    : never;
}[keyof Value] &
  string;

export interface OperationDefinition<Value, Schema extends StandardSchemaV1> {
  /** The plugin whose value has the method. */
  readonly plugin: AppPlugin<Value>;
  /** Called as `value[method](input, { signal })`. It answers with JSON, or nothing, which is null. */
  readonly method: NoInfer<OperationMethod<Value, Schema>>;
  /** Any Standard Schema v1 of a JSON object. It says nothing of who calls: that is never a matter of the input. */
  readonly input: Schema;
  /** What the operation does, for a person or a model that has to choose. 1..1000 characters. */
  readonly description: string;
  readonly effect: OperationEffect;
  /** True when it can remove or overwrite what nobody can bring back. Needs `effect: "write"`. */
  readonly destructive: boolean;
  readonly retry: OperationRetry;
  readonly cancellation: OperationCancellation;
  /** The question whose answer must be yes before each call. Default: none is asked. */
  readonly confirmation?: string;
  /** What somebody else has to agree to before each call. Default: nobody is asked. */
  readonly approval?: string;
}

/**
 * A method of a plugin's value as an operation that adapters can list and call. Declaring it grants nobody anything.
 *
 * @throws HostError `invalid_operation`
 * @example
 * const cancel = defineOperation({
 *   plugin: reports,
 *   method: "cancel",
 *   input: v.strictObject({ jobId: v.string() }),
 *   description: "Cancels a report that is being written or waits for it.",
 *   effect: "write",
 *   destructive: true,
 *   retry: "safe",
 *   cancellation: "ignored",
 *   confirmation: "Cancel the report?",
 * });
 */
export function defineOperation<Value, Schema extends StandardSchemaV1>(
  definition: OperationDefinition<Value, Schema>,
): Operation {
  return Object.freeze(checkOperation(definition, "operation"));
}

/** A fresh copy of an operation's fields. @throws HostError `invalid_operation` that names the place. */
export function checkOperation(operation: unknown, place: string): Operation {
  const { success, output, issues } = v.safeParse(OperationFields, operation);
  if (success) return output;
  const [issue] = issues;
  const path = [place, v.getDotPath(issue)].filter((part) => part !== null).join(".");
  throw new HostError({ code: "invalid_operation", message: `${path}: ${issue.message}` });
}

const text = v.pipe(
  v.string("expected a text"),
  v.check((value) => value.trim() !== "" && value.length <= 1000, "expected 1..1000 characters"),
);

const oneOf = <const Values extends readonly string[]>(values: Values) =>
  v.picklist(values, `expected one of ${values.join(", ")}`);

const OperationFields = v.pipe(
  v.strictObject(
    {
      plugin: v.custom<AppPlugin>(isAppPlugin, "expected a plugin: { id, requires, setup }"),
      method: v.pipe(v.string("expected a method's name"), v.minLength(1, "expected a method's name")),
      input: v.custom<StandardSchemaV1>(isStandardSchema, "expected a Standard Schema v1"),
      description: text,
      effect: oneOf(["read", "write"]),
      destructive: v.boolean("expected true or false"),
      retry: oneOf(["safe", "look-first", "never"]),
      cancellation: oneOf(["cooperative", "ignored"]),
      confirmation: v.exactOptional(text),
      approval: v.exactOptional(text),
    },
    (issue) => (issue.expected === "never" ? "unknown field" : "missing, or no operation at all"),
  ),
  v.check(
    ({ effect, destructive }) => effect === "write" || !destructive,
    'destructive: true needs effect: "write"',
  ),
);

/** Whether the value has the form of a plugin. Sets nothing up. */
export function isAppPlugin(value: unknown): value is AppPlugin {
  const { id, requires, setup } = (value ?? {}) as Partial<AppPlugin>;
  return typeof id === "string" && id !== "" && Array.isArray(requires) && typeof setup === "function";
}

function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false; // arktype's are functions
  const standard = (value as Partial<StandardSchemaV1>)["~standard"];
  return standard?.version === 1 && typeof standard.validate === "function";
}
