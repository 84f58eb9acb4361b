import * as v from "valibot";
import type { AnyOperation, CapabilityDefinition, ClientOf } from "./definition.ts";
import { formatDuration } from "./duration.ts";
import { type ExactRecord, exactRecord } from "./exact-record.ts";
import type { CapabilityHandle, InvokeOptions } from "./host.ts";
import type { CallResult, InvocationContext, ProviderDispatchOutcome } from "./invocation.ts";
import { type JobsClient, jobsCapability } from "./jobs.ts";
import { type SecretsClient, secretsCapability } from "./secrets.ts";
import { type SignalsClient, signalsCapability } from "./signals.ts";

/**
 * A typed client of `lenso.jobs@1` from what a host gives a module.
 *
 * @throws TypeError when the handle is missing: the host did not bind the requirement.
 * @example
 * const jobs = createJobsClient(context.handle("jobs"));
 * const claimed = await jobs.claim({ queue: "mail" });
 * if (claimed.ok) await jobs.complete({ job_id: claimed.value.job_id, lease_token: claimed.value.lease_token });
 */
export function createJobsClient(handle: CapabilityHandle | undefined): JobsClient {
  return createClient(jobsCapability, handle);
}

/** A typed client of `lenso.secrets@1`. @throws TypeError when the handle is missing. */
export function createSecretsClient(handle: CapabilityHandle | undefined): SecretsClient {
  return createClient(secretsCapability, handle);
}

/** A typed client of `lenso.jobs-signals@1`. @throws TypeError when the handle is missing. */
export function createSignalsClient(handle: CapabilityHandle | undefined): SignalsClient {
  return createClient(signalsCapability, handle);
}

/** The `invoke` that the Lenso Bun SDK gives a dependency's client. */
export type SdkInvoke = (
  operation: string,
  context: InvocationContext,
  payload: unknown,
) => Promise<ProviderDispatchOutcome>;

/** A handle over the Lenso Bun SDK's `invoke`, so that the same clients serve both kinds of host. */
export function handleFromInvoke(invoke: SdkInvoke): CapabilityHandle {
  let calls = 0n;
  return {
    invoke(operation, payload, options) {
      calls += 1n;
      const context: InvocationContext = {
        requestId: calls.toString(),
        cancelled: options?.signal?.aborted ?? false,
        ...(options?.timeoutMs === undefined ? {} : { deadline: formatDuration(options.timeoutMs) }),
        ...(options?.signal === undefined ? {} : { signal: options.signal }),
      };
      return invoke(operation, context, payload);
    },
  };
}

/** The general form of the clients above, for any capability described in this package's way. */
export function createClient<Operations extends Record<string, AnyOperation>>(
  capability: CapabilityDefinition<Operations>,
  handle: CapabilityHandle | undefined,
): ClientOf<Operations> {
  const id = capability.descriptor.capability_id;
  if (handle === undefined)
    throw new TypeError(`no handle for ${id}: the requirement is not bound to a provider`);
  const calls = Object.entries(capability.operations).map(([operation, definition]) => {
    const answers: Answers = { operation, definition, quick: exactRecord(definition.response) };
    return [
      operation,
      (request: unknown, options?: InvokeOptions) => call(handle, answers, request, options),
    ];
  });
  return Object.freeze(Object.fromEntries(calls)) as ClientOf<Operations>;
}

/** What a client knows of the answers to one operation. */
interface Answers {
  readonly operation: string;
  readonly definition: AnyOperation;
  readonly quick: ExactRecord | undefined;
}

async function call(
  handle: CapabilityHandle,
  answers: Answers,
  request: unknown,
  options: InvokeOptions | undefined,
): Promise<CallResult<unknown, string>> {
  const { operation } = answers;
  let outcome: ProviderDispatchOutcome;
  try {
    outcome = await handle.invoke(operation, request, options);
  } catch {
    return failure("internal", `the host threw while it invoked ${operation}`);
  }
  try {
    return readOutcome(answers, outcome);
  } catch {
    return failure("protocol_violation", `the host's outcome of ${operation} cannot be read`);
  }
}

function readOutcome(
  { operation, definition, quick }: Answers,
  outcome: ProviderDispatchOutcome,
): CallResult<unknown, string> {
  if (outcome.kind === "runtime") {
    const { kind, detail } = outcome.failure;
    return { ok: false, error: { kind: "runtime", error: { kind, detail } } };
  }
  if (outcome.kind === "domain") return domainError(operation, definition, outcome.value);
  if (!quick?.fits(outcome.value) && !v.is(definition.response, outcome.value)) {
    return failure("protocol_violation", `the answer to ${operation} does not fit the contract`);
  }
  definition.hideResponse?.(outcome.value);
  return { ok: true, value: outcome.value };
}

/** A known code as itself; an unknown one as `{ code, payload? }`, so that a newer provider does not break this client. */
function domainError(operation: string, definition: AnyOperation, value: unknown): CallResult<never, string> {
  const { code, payload } =
    typeof value === "object" && value !== null
      ? (value as { code?: unknown; payload?: unknown })
      : { code: value };
  if (typeof code !== "string") {
    return failure("protocol_violation", `${operation} was refused without a code`);
  }
  if (definition.errors.includes(code)) return { ok: false, error: { kind: "domain", error: code } };
  const unknown = payload === undefined ? { code } : { code, payload };
  return { ok: false, error: { kind: "domain", error: unknown } };
}

function failure(kind: "internal" | "protocol_violation", detail: string): CallResult<never, string> {
  return { ok: false, error: { kind: "runtime", error: { kind, detail } } };
}
