import type { JsonValue } from "../../capability/index.ts";
import { HostError } from "../host-error.ts";
import type { Manage } from "./define-manage.ts";
import type { Operation } from "./define-operation.ts";
import { describeOperation, type OperationDescription } from "./describe-operation.ts";
import { invokeOperation } from "./invoke-operation.ts";
import type { RunningApp } from "./start-app.ts";

export interface ManageAdapterOptions {
  /** The application that has the plugin. It is borrowed: the adapter never stops it. */
  readonly running: Pick<RunningApp, "get">;
  readonly manage: Manage;
  /** Whether this adapter's caller may know of an operation. Anything but `true` hides it, from calls as well. */
  canList(listed: ListedOperation): boolean | Promise<boolean>;
  /** Asks the caller the operation's `confirmation`. Anything but `true` refuses the call. Default: every such call is refused. */
  confirm?(call: OperationCall): boolean | Promise<boolean>;
  /** Asks whoever has to agree for the operation's `approval`. Anything but `true` refuses the call. Default: every such call is refused. */
  approve?(call: OperationCall): boolean | Promise<boolean>;
  /** Largest answer in bytes of compact JSON as UTF-8. A larger one is refused, though its effect has happened. */
  readonly maxOutputBytes: number;
  /** Gets what really failed behind `operation-failed` and `invalid-output`. It may hold anything. Default: nobody does. */
  onError?(error: unknown, name: string): void;
}

/** An operation that might be listed. */
export interface ListedOperation {
  readonly name: string;
  readonly operation: Operation;
}

/** A call that is about to happen: its input has been validated. */
export interface OperationCall extends ListedOperation {
  readonly input: unknown;
  /** Aborts when the caller no longer wants the answer. */
  readonly signal: AbortSignal;
}

/** Lists and calls operations of a running application, on behalf of whoever the application was started for. */
export interface ManageAdapter {
  /** What may be listed, in the order of the declaration. */
  catalog(): Promise<readonly OperationDescription[]>;
  /**
   * Resolve → `canList` → validate → confirm and approve → the method, once: nothing is ever retried. Never rejects. Aborting cancels
   * this call, and by itself nothing that the call has set going.
   */
  invoke(
    name: string,
    input: unknown,
    options?: { readonly signal?: AbortSignal },
  ): Promise<OperationOutcome>;
}

/** What became of a call. A caller can act on the code; no message holds an input, an output or what a method threw. */
export type OperationOutcome =
  | { readonly ok: true; readonly data: JsonValue }
  | { readonly ok: false; readonly error: OperationFailure };

export interface OperationFailure {
  /** One of ours, or that of an `OperationError` which the method threw. */
  readonly code: ManageErrorCode | (string & {});
  readonly message: string;
}

/**
 * - `unknown-operation`: there is none of the name, or none that the caller may know of.
 * - `invalid-input`: not JSON, too large, names an actor, or the schema refuses it.
 * - `not-confirmed`, `not-approved`: it needs that, and the answer was not exactly `true`.
 * - `cancelled`: the caller's signal aborted; the effect may have happened.
 * - `unavailable`: the application has stopped.
 * - `operation-failed`: the method threw; the effect may have happened.
 * - `invalid-output`, `output-too-large`: the effect has happened, its answer cannot be told.
 */
export type ManageErrorCode =
  | "unknown-operation"
  | "invalid-input"
  | "not-confirmed"
  | "not-approved"
  | "cancelled"
  | "unavailable"
  | "operation-failed"
  | "invalid-output"
  | "output-too-large";

/**
 * An adapter between callers and a plugin's value. It starts no worker, and grants nothing that the value does not.
 *
 * @throws HostError `invalid_operation` when the value lacks a declared method, `missing_plugin` or `app_stopped`; RangeError.
 * @example
 * const adapter = createManageAdapter({
 *   running: app,
 *   manage,
 *   canList: ({ operation }) => operation.effect === "read",
 *   maxOutputBytes: 65_536,
 * });
 * const outcome = await adapter.invoke("query", { jobId });
 */
export function createManageAdapter(options: ManageAdapterOptions): ManageAdapter {
  const { running, manage, canList, maxOutputBytes } = options;
  if (!Number.isSafeInteger(maxOutputBytes) || maxOutputBytes < 1)
    throw new RangeError(`maxOutputBytes: expected an integer above 0, got ${maxOutputBytes}`);
  const value = running.get(manage.plugin) as Readonly<Record<string, unknown>> | null | undefined;
  for (const [name, { method }] of Object.entries(manage.operations)) {
    if (typeof value?.[method] === "function" && !(method in Object.prototype)) continue;
    throw new HostError({
      code: "invalid_operation",
      message: `operations.${name}: the value of "${manage.plugin.id}" has no method "${method}"`,
    });
  }
  return Object.freeze<ManageAdapter>({
    async catalog() {
      const listed: OperationDescription[] = [];
      for (const [name, operation] of Object.entries(manage.operations)) {
        if ((await canList({ name, operation })) === true)
          listed.push(await describeOperation(name, operation));
      }
      return listed;
    },
    invoke: (name, input, { signal } = {}) => invokeOperation(options, { name, input, signal }),
  });
}
