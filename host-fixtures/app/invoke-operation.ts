import type { AppPlugin } from "../../capability/index.ts";
import { HostError } from "../host-error.ts";
import { runWithin } from "../time-limit.ts";
import type {
  ManageAdapterOptions,
  ManageErrorCode,
  OperationCall,
  OperationOutcome,
} from "./create-manage-adapter.ts";
import type { Operation, OperationContext } from "./define-operation.ts";
import { OperationError } from "./operation-error.ts";
import { NotPlainJson, plainJson } from "./plain-json.ts";
import { validateInput } from "./validate-input.ts";

/** A call as it arrives. */
export interface Invocation {
  readonly name: string;
  readonly input: unknown;
  readonly signal: AbortSignal | undefined;
}

/** One call from its name to its answer, each stage once. */
export async function invokeOperation(
  options: ManageAdapterOptions,
  { name, input, signal = new AbortController().signal }: Invocation,
): Promise<OperationOutcome> {
  const { operations } = options.manage;
  const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (operation === undefined) return unknown();
  let called = false;
  try {
    const admitted = await runWithin({ signal }, (own) =>
      admit(options, { name, operation, input, signal: own }),
    );
    if (signal.aborted || !admitted.ended) return neverMade();
    if (!admitted.value.ok) return admitted.value;
    const value = valueOf(options, operation.plugin);
    if (value === undefined)
      return failure("unavailable", "the application has stopped: nothing has happened");
    called = true;
    const answer = await dispatch(operation, value, admitted.value.input, signal);
    if (!answer.ended) return interrupted();
    return answerOf(answer.value, options, name);
  } catch (error) {
    if (error instanceof OperationError)
      return { ok: false, error: { code: error.code, message: error.message } };
    if (signal.aborted) return called ? interrupted() : neverMade();
    options.onError?.(error, name);
    return failure(
      "operation-failed",
      called
        ? "the operation failed: its effect may have happened"
        : "the call failed before it was made: nothing has happened",
    );
  }
}

type Admitted = { readonly ok: true; readonly input: unknown } | Extract<OperationOutcome, { ok: false }>;

/** Everything that can refuse a call. Nothing of the plugin runs. */
async function admit(
  { canList, confirm, approve }: ManageAdapterOptions,
  { name, operation, input, signal }: OperationCall,
): Promise<Admitted> {
  // The same answer as for none of the name, so that a refusal tells nobody what there is.
  if ((await canList({ name, operation })) !== true) return unknown();
  const validated = await validateInput(operation.input, input);
  if (!validated.ok) return validated;
  const call: OperationCall = { name, operation, input: validated.value, signal };
  const refused = "nothing has happened";
  if (operation.confirmation !== undefined && (await confirm?.(call)) !== true)
    return failure("not-confirmed", `the operation has to be confirmed first: ${refused}`);
  if (operation.approval !== undefined && (await approve?.(call)) !== true)
    return failure("not-approved", `somebody has to approve of the operation first: ${refused}`);
  return { ok: true, input: validated.value };
}

type Value = Readonly<Record<string, (input: unknown, context: OperationContext) => unknown>>;

function valueOf({ running }: ManageAdapterOptions, plugin: AppPlugin): Value | undefined {
  try {
    return running.get(plugin) as Value;
  } catch (error) {
    if (error instanceof HostError && error.code === "app_stopped") return undefined;
    throw error;
  }
}

/** A cooperative method is waited for, also once its signal has aborted: what it then says is the truth. */
async function dispatch(
  { method, cancellation }: Operation,
  value: Value,
  input: unknown,
  signal: AbortSignal,
): Promise<{ readonly ended: true; readonly value: unknown } | { readonly ended: false }> {
  const run = async (own: AbortSignal) => value[method]?.(input, { signal: own });
  return cancellation === "cooperative"
    ? { ended: true, value: await run(signal) }
    : runWithin({ signal }, run);
}

/** A method that answers nothing answers null. */
function answerOf(
  value: unknown,
  { maxOutputBytes, onError }: ManageAdapterOptions,
  name: string,
): OperationOutcome {
  try {
    return { ok: true, data: plainJson(value === undefined ? null : value, maxOutputBytes) };
  } catch (error) {
    const happened = "the operation's effect has happened, but its answer";
    if (error instanceof NotPlainJson && error.tooLarge)
      return failure("output-too-large", `${happened} is larger than ${maxOutputBytes} bytes`);
    onError?.(error, name);
    return failure("invalid-output", `${happened} is not plain JSON`);
  }
}

function unknown(): Extract<OperationOutcome, { ok: false }> {
  return failure("unknown-operation", "there is no operation of this name");
}

function neverMade(): OperationOutcome {
  return failure("cancelled", "the call was cancelled before it was made: nothing has happened");
}

function interrupted(): OperationOutcome {
  return failure("cancelled", "the call was cancelled while it ran: its effect may have happened");
}

function failure(code: ManageErrorCode, message: string): Extract<OperationOutcome, { ok: false }> {
  return { ok: false, error: { code, message } };
}
