/** Every way a call can fail that is not an answer of the capability itself. The set is closed; a host maps each kind to what it does next. */
export const runtimeFailureKinds = [
  "unavailable",
  "unknown_operation",
  "ambiguous_binding",
  "protocol_violation",
  "missing_plugin_factory",
  "unavailable_execution_class",
  "invalid_resolved_plan",
  "admission_closed",
  "resource_exhausted",
  "deadline_exceeded",
  "cancelled",
  "internal",
  "plugin_failure",
  "plugin_restart_exhausted",
] as const;

/** One of {@link runtimeFailureKinds}. `plugin_failure` is kept for bugs; a lost database is `unavailable`. */
export type RuntimeFailureKind = (typeof runtimeFailureKinds)[number];

/** Why a call could not be answered. `detail` is for people and never holds a secret or a payload. */
export interface RuntimeFailure {
  readonly kind: RuntimeFailureKind;
  readonly detail: string;
}

/** What a provider's binding answers to one call: the value, a domain error of the capability, or a runtime failure. */
export type ProviderDispatchOutcome =
  | { readonly kind: "success"; readonly value: unknown }
  | { readonly kind: "domain"; readonly value: unknown }
  | { readonly kind: "runtime"; readonly failure: RuntimeFailure };

/** What a host tells a provider about one call. */
export interface InvocationContext {
  /** Decimal string, unique within the host. */
  readonly requestId: string;
  /** Key of the calling Instance. Set by the consumer's handle, never by the payload; absent means nobody may do anything. */
  readonly callerInstance?: string;
  /** Time left for the call as an ISO 8601 duration, such as `PT2.5S`. */
  readonly deadline?: string;
  /** True when the caller had already given up before the provider was entered. */
  readonly cancelled: boolean;
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** Aborts when the caller gives up. */
  readonly signal?: AbortSignal;
}

/** A domain error that this build does not know, passed on as it came so that a newer provider does not break an older client. */
export interface UnknownDomainError {
  readonly code: string;
  readonly payload?: unknown;
}

/** The outcome of a client call. Never thrown: both kinds of failure are values. */
export type CallResult<Value, Code extends string> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: CallError<Code> };

/** A failed call: the capability's own answer (`domain`), or no answer (`runtime`). */
export type CallError<Code extends string> =
  | { readonly kind: "domain"; readonly error: Code | UnknownDomainError }
  | { readonly kind: "runtime"; readonly error: RuntimeFailure };

/** The outcome of a provider's method: what {@link CallResult} is to a client, with known codes only. */
export type ProviderResult<Value, Code extends string> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false;
      readonly error:
        | { readonly kind: "domain"; readonly error: Code }
        | { readonly kind: "runtime"; readonly error: RuntimeFailure };
    };

/** Thrown where a call has no result to carry the failure: by `instantiate`, `prepare`, `activate` and `deactivate`. */
export class RuntimeFailureError extends Error {
  override readonly name = "RuntimeFailureError";
  readonly kind: RuntimeFailureKind;
  readonly detail: string;

  constructor(kind: RuntimeFailureKind, detail: string, options?: ErrorOptions) {
    super(`${kind}: ${detail}`, options);
    this.kind = kind;
    this.detail = detail;
  }

  /** The same failure as a value, for a dispatch outcome. */
  get failure(): RuntimeFailure {
    return { kind: this.kind, detail: this.detail };
  }
}
