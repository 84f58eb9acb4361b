import {
  type CapabilityHandle,
  type CapabilityProviderBinding,
  formatDuration,
  type InvocationContext,
  type InvokeOptions,
  type PluginInstance,
  type ProviderDispatchOutcome,
  type RuntimeFailureKind,
} from "../capability/index.ts";
import { runWithin } from "./time-limit.ts";

/** One Instance as the host runs it. */
export interface Member {
  readonly key: string;
  readonly instance: PluginInstance;
  /** Its endpoints answer while `prepared`; its own calls go out until `ended`, which is the end of its `deactivate`. */
  phase: "unprepared" | "prepared" | "ended";
}

/** What all calls of one host share. */
export interface Admission {
  /** True from the first moment of the shutdown or roll-back. */
  closing: boolean;
  /** `capability/operation` of what closes then for everybody, while the rest stays open to Instances that drain. */
  readonly closeFirst: ReadonlySet<string>;
  /** Ends the waits that are pending, by aborting them. */
  readonly waits: Set<AbortController>;
  calls: number;
}

/** One binding as a consumer may call it. */
export interface Link {
  readonly admission: Admission;
  readonly consumer: Member;
  readonly provider: Member;
  readonly endpoint: CapabilityProviderBinding;
  /** True for a handle that the host gave to the application around it. */
  readonly outside: boolean;
}

/** The one long wait that there is, and what it answers when the host stops: nothing was lost, so it is no failure. */
const wait = { capability: "lenso.jobs-signals@1", operation: "wait", atStop: { queue: null } };

/** The consumer's end of a binding. A call without signal and time-out costs one context and one promise. */
export function openHandle(link: Link): CapabilityHandle {
  const { admission, consumer, endpoint } = link;
  const capability = endpoint.descriptor.capability_id;
  const endsWaits =
    capability === wait.capability && admission.closeFirst.has(`${capability}/${wait.operation}`);
  return {
    invoke(operation, payload, options) {
      const refused = refusal(link, operation);
      if (refused) return Promise.resolve(refused);
      admission.calls += 1;
      const context = { requestId: String(admission.calls), callerInstance: consumer.key, cancelled: false };
      if (endsWaits && operation === wait.operation) return enterWait(link, context, payload, options ?? {});
      return options?.signal === undefined && options?.timeoutMs === undefined
        ? enter(endpoint, operation, context, payload)
        : enterWithin(options, endpoint, operation, context, payload);
    },
  };
}

function refusal(link: Link, operation: string): ProviderDispatchOutcome | undefined {
  const { admission, consumer, provider, endpoint, outside } = link;
  if (consumer.phase === "ended")
    return failure("admission_closed", `"${consumer.key}", which calls, has been deactivated`);
  if (provider.phase === "unprepared") return failure("unavailable", `"${provider.key}" is not prepared yet`);
  if (provider.phase === "ended")
    return failure("admission_closed", `"${provider.key}" has been deactivated`);
  if (!admission.closing) return undefined;
  const name = `${endpoint.descriptor.capability_id}/${operation}`;
  if (!outside && !admission.closeFirst.has(name)) return undefined;
  return failure(
    "admission_closed",
    `the host is stopping and admits no ${name}${outside ? " from outside" : ""}`,
  );
}

async function enter(
  endpoint: CapabilityProviderBinding,
  operation: string,
  context: InvocationContext,
  payload: unknown,
): Promise<ProviderDispatchOutcome> {
  try {
    return await endpoint.invokeRequest(operation, context, payload);
  } catch (error) {
    // The text of an unexpected error may hold data of the call, so only its class goes out.
    const name = error instanceof Error ? error.constructor.name : typeof error;
    return failure("plugin_failure", `the provider threw while it answered ${operation} (${name})`);
  }
}

async function enterWithin(
  { signal, timeoutMs }: InvokeOptions,
  endpoint: CapabilityProviderBinding,
  operation: string,
  context: InvocationContext,
  payload: unknown,
): Promise<ProviderDispatchOutcome> {
  if (timeoutMs !== undefined && !Number.isFinite(timeoutMs)) {
    return failure("protocol_violation", `timeoutMs must be a finite number, got ${timeoutMs}`);
  }
  const deadline = timeoutMs === undefined ? {} : { deadline: formatDuration(timeoutMs) };
  const limited = { ...context, ...deadline, cancelled: signal?.aborted ?? false };
  const result = await runWithin({ signal, timeoutMs }, (given) =>
    enter(endpoint, operation, { ...limited, signal: given }, payload),
  );
  if (result.ended && !(result.over && isCancelled(result.value))) return result.value;
  // A provider sees the aborted signal only; the host knows whether the deadline or the caller aborted it.
  return result.over === "deadline_exceeded"
    ? failure("deadline_exceeded", `no answer to ${operation} within ${timeoutMs ?? 0} ms`)
    : failure("cancelled", `the caller gave up before the answer to ${operation}`);
}

async function enterWait(
  { admission, endpoint }: Link,
  context: InvocationContext,
  payload: unknown,
  { signal, ...options }: InvokeOptions,
): Promise<ProviderDispatchOutcome> {
  const stopping = new AbortController();
  admission.waits.add(stopping);
  const either = signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal;
  const outcome = await enterWithin(
    { ...options, signal: either },
    endpoint,
    wait.operation,
    context,
    payload,
  );
  admission.waits.delete(stopping);
  const stopped = stopping.signal.aborted && !signal?.aborted && outcome.kind === "runtime";
  return stopped ? { kind: "success", value: wait.atStop } : outcome;
}

function isCancelled(outcome: ProviderDispatchOutcome): boolean {
  return outcome.kind === "runtime" && outcome.failure.kind === "cancelled";
}

function failure(kind: RuntimeFailureKind, detail: string): ProviderDispatchOutcome {
  return { kind: "runtime", failure: { kind, detail } };
}
