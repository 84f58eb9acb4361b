import * as v from "valibot";
import type { AnyOperation, CapabilityDefinition, ProviderOf } from "./definition.ts";
import { type ExactRecord, exactRecord } from "./exact-record.ts";
import type { CapabilityProviderBinding } from "./host.ts";
import type { InvocationContext, ProviderDispatchOutcome, RuntimeFailureKind } from "./invocation.ts";
import { RuntimeFailureError } from "./invocation.ts";
import { type JobsProvider, jobsCapability } from "./jobs.ts";
import { isPlainObject } from "./plain-object.ts";
import { type SecretsProvider, secretsCapability } from "./secrets.ts";
import { type SignalsProvider, signalsCapability } from "./signals.ts";

/** Makes an implementation of `lenso.jobs@1` callable by a host: decodes, calls, and turns whatever happens into an outcome. */
export function bindJobsProvider(provider: JobsProvider): CapabilityProviderBinding {
  return bindProvider(jobsCapability, provider);
}

/** Makes an implementation of `lenso.secrets@1` callable by a host. */
export function bindSecretsProvider(provider: SecretsProvider): CapabilityProviderBinding {
  return bindProvider(secretsCapability, provider);
}

/** Makes an implementation of `lenso.jobs-signals@1` callable by a host. */
export function bindSignalsProvider(provider: SignalsProvider): CapabilityProviderBinding {
  return bindProvider(signalsCapability, provider);
}

/** The general form of the ones above, for any capability described in this package's way. */
export function bindProvider<Operations extends Record<string, AnyOperation>>(
  capability: CapabilityDefinition<Operations>,
  provider: ProviderOf<Operations>,
): CapabilityProviderBinding {
  const operations = new Map(
    Object.entries(capability.operations).map(([operation, definition]) => {
      return [operation, { definition, quick: exactRecord(definition.request) }];
    }),
  );
  return {
    descriptor: capability.descriptor,
    async invokeRequest(operation, context, payload) {
      const known = operations.get(operation);
      if (known === undefined) {
        return runtime(
          "unknown_operation",
          `${capability.descriptor.capability_id} has no operation "${typeof operation === "string" ? printable(operation) : typeof operation}", only ${capability.descriptor.operations.join(", ")}`,
        );
      }
      const { definition, quick } = known;
      const request = decode(definition, quick, payload);
      if (typeof request === "string") return runtime("protocol_violation", `${operation}: ${request}`);
      definition.hideRequest?.(request);
      try {
        const answer = await (provider[operation] as Method)(context, request);
        if (!answer.ok) return refusal(answer);
        definition.hideResponse?.(answer.value);
        return { kind: "success", value: answer.value };
      } catch (error) {
        return thrownOutcome(operation, error);
      }
    },
  };
}

/** The request with exactly its keys, or what is wrong with it. An object that throws when it is read is no request. */
function decode(definition: AnyOperation, quick: ExactRecord | undefined, payload: unknown): object | string {
  try {
    const read = quick?.read(payload);
    if (read !== undefined) return read;
    if (!isPlainObject(payload)) return "expected a plain object with own, enumerable keys";
    const decoded = v.safeParse(definition.request, payload, { abortEarly: true });
    return decoded.success ? (decoded.output as object) : describeIssue(definition, decoded.issues[0]);
  } catch {
    return "the request cannot be read";
  }
}

type Method = (context: InvocationContext, request: unknown) => Promise<ProviderAnswer>;
type ProviderAnswer = Awaited<ReturnType<JobsProvider["claim"]>> | Awaited<ReturnType<JobsProvider["renew"]>>;

function refusal(answer: ProviderAnswer & { readonly ok: false }): ProviderDispatchOutcome {
  return answer.error.kind === "domain"
    ? { kind: "domain", value: answer.error.error }
    : { kind: "runtime", failure: answer.error.error };
}

/** The text of an unexpected error may hold data of the call, so only its class goes out. */
function thrownOutcome(operation: string, error: unknown): ProviderDispatchOutcome {
  try {
    if (error instanceof RuntimeFailureError) return runtime(error.kind, error.detail);
    return runtime("plugin_failure", `${operation} failed unexpectedly (${errorName(error)})`);
  } catch {
    return runtime("plugin_failure", `${operation} failed unexpectedly`); // what was thrown throws when it is read
  }
}

function runtime(kind: RuntimeFailureKind, detail: string): ProviderDispatchOutcome {
  return { kind: "runtime", failure: { kind, detail } };
}

/** Says which key is wrong and how, never what its value was: it may be a payload or a token. */
function describeIssue(definition: AnyOperation, issue: v.BaseIssue<unknown>): string {
  const path = issue.path?.map((item) => printable(String(item.key))).join(".") ?? "";
  const arrived = issue.received.startsWith('"') ? "another value" : issue.received;
  if (issue.type === "strict_object" && issue.expected === "never")
    return `unknown key "${path}", expected only ${keysOf(definition)}`;
  if (issue.type === "strict_object" && path !== "") return `missing key "${path}"`;
  const expected = issue.type === "custom" ? "a JSON object" : (issue.expected ?? "something else");
  return path === ""
    ? `expected an object, got ${arrived}`
    : `key "${path}" must be ${expected}, got ${arrived}`;
}

function keysOf(definition: AnyOperation): string {
  const { entries = {} } = definition.request as { readonly entries?: object };
  return Object.keys(entries).join(", ");
}

/** Text of the caller's, fit for a message: short, and without control characters. */
function printable(text: string): string {
  const clean = text.replace(/[^\x20-\x7e]/g, "?");
  return clean.length > 64 ? `${clean.slice(0, 64)}…` : clean;
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.constructor.name : typeof error;
}
