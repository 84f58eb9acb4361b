import type { JsonValue } from "../../../capability/index.ts";
import { ownJson } from "../../canonical/own-json.ts";
import { validateValue } from "../../configuration/validate-value.ts";
import type { JobSnapshot } from "../../lifecycle/job-snapshot.ts";
import type { AnyJobCommand, AnyJobQuery } from "../../provider/define-job-provider.ts";
import type { JobReadableArtifact } from "../../provider/job-artifact.ts";
import { configurationLimits } from "../../submission/read-configuration.ts";
import { checkResult } from "../check-result.ts";
import type { HostParts } from "../host-parts.ts";
import { tellProviderFailure } from "../job-provider-failure.ts";
import { type JobCallRefused, refuseCall } from "./job-call-outcome.ts";

/** How a query or a command of a provider ended: with a result that its schema takes, or without one. */
export type ExtensionOutcome =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly code: "PROVIDER_EXECUTION_FAILED" | "RESULT_INVALID" };

/** What a caller gave, as owned JSON, or the refusal. */
export function readGiven(value: unknown): { readonly ok: true; readonly value: JsonValue } | JobCallRefused {
  try {
    return { ok: true, value: ownJson(value, configurationLimits) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const issue = Object.freeze({ pointer: "", message: error.message });
    return refuseCall("INPUT_INVALID", Object.freeze([issue]));
  }
}

/** The schema's output for what a caller gave, or the refusal. A schema that throws has not taken it. */
export async function validateExtensionInput(
  extension: Pick<AnyJobQuery, "inputSchema">,
  given: JsonValue,
): Promise<{ readonly ok: true; readonly input: JsonValue } | JobCallRefused> {
  const validation = await validated(extension.inputSchema, given);
  if (validation === undefined) return refuseCall("INPUT_INVALID");
  return validation.ok
    ? { ok: true, input: validation.value }
    : refuseCall("INPUT_INVALID", validation.issues);
}

/**
 * Runs a query or a command on a validated input. What it throws, or what is wrong with its result, goes to the host's `onError` and into no
 * answer: a provider's text may hold anything. One that ends because it was asked to is no failure to tell of.
 */
export async function runExtension(
  host: Pick<HostParts, "hostId" | "onError">,
  extension: AnyJobQuery | AnyJobCommand,
  call: {
    readonly snapshot: JobSnapshot;
    readonly input: JsonValue;
    readonly artifacts: readonly JobReadableArtifact[];
    readonly signal: AbortSignal;
    readonly commandId?: string;
  },
): Promise<ExtensionOutcome> {
  const { reference, provider } = call.snapshot;
  const kind = call.commandId === undefined ? "query" : "command";
  const facts = { jobId: reference.jobId, providerId: provider.id, during: `${kind} ${extension.name}` };
  const fail = (code: "PROVIDER_EXECUTION_FAILED" | "RESULT_INVALID", cause: unknown): ExtensionOutcome => {
    if (!call.signal.aborted) tellProviderFailure(host, { ...facts, code }, cause);
    return Object.freeze({ ok: false, code });
  };
  let result: unknown;
  try {
    result = await (extension.execute as (call: unknown) => unknown)(Object.freeze({ ...call }));
  } catch (error) {
    return fail("PROVIDER_EXECUTION_FAILED", error);
  }
  const checked = await checkResult(extension.resultSchema, result);
  return checked.ok
    ? Object.freeze({ ok: true, value: checked.value })
    : fail("RESULT_INVALID", checked.cause);
}

/** Undefined when the schema throws. */
function validated(
  schema: AnyJobQuery["inputSchema"],
  value: unknown,
): Promise<Awaited<ReturnType<typeof validateValue>> | undefined> {
  return validateValue(schema, value, configurationLimits).catch(() => undefined);
}
