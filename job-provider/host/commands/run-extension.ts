import type { JsonValue } from "../../../capability/index.ts";
import { ownJson } from "../../canonical/own-json.ts";
import { validateValue } from "../../configuration/validate-value.ts";
import type { JobSnapshot } from "../../lifecycle/job-snapshot.ts";
import type { AnyJobCommand, AnyJobQuery } from "../../provider/define-job-provider.ts";
import type { JobReadableArtifact } from "../../provider/job-artifact.ts";
import { configurationLimits } from "../../submission/read-configuration.ts";
import { type JobCallRefused, refuseCall } from "./job-call-outcome.ts";

/** How a query or a command of a provider ended: with a result that its schema takes, or without one. */
export type ExtensionOutcome =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly code: "PROVIDER_EXECUTION_FAILED" | "RESULT_INVALID" };

/** What a caller gave, as owned JSON, and the schema's output for it. */
export interface ExtensionInput {
  readonly ok: true;
  readonly given: JsonValue;
  readonly input: JsonValue;
}

/** An input that its schema takes, or the refusal. A schema that throws has not taken it. */
export async function readExtensionInput(
  extension: Pick<AnyJobQuery, "inputSchema">,
  value: unknown,
): Promise<ExtensionInput | JobCallRefused> {
  let given: JsonValue;
  try {
    given = ownJson(value, configurationLimits);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const issue = Object.freeze({ pointer: "", message: error.message });
    return refuseCall("INPUT_INVALID", Object.freeze([issue]));
  }
  const validation = await validated(extension.inputSchema, given);
  if (validation === undefined) return refuseCall("INPUT_INVALID");
  return validation.ok
    ? { ok: true, given, input: validation.value }
    : refuseCall("INPUT_INVALID", validation.issues);
}

/** Runs a query or a command on a validated input. What it throws is dropped: a provider's text may hold anything. */
export async function runExtension(
  extension: AnyJobQuery | AnyJobCommand,
  call: {
    readonly snapshot: JobSnapshot;
    readonly input: JsonValue;
    readonly artifacts: readonly JobReadableArtifact[];
    readonly signal: AbortSignal;
    readonly commandId?: string;
  },
): Promise<ExtensionOutcome> {
  let result: unknown;
  try {
    result = await (extension.execute as (call: unknown) => unknown)(Object.freeze({ ...call }));
  } catch {
    return Object.freeze({ ok: false, code: "PROVIDER_EXECUTION_FAILED" });
  }
  const validation = await validated(extension.resultSchema, result);
  return validation?.ok === true
    ? Object.freeze({ ok: true, value: validation.value })
    : Object.freeze({ ok: false, code: "RESULT_INVALID" });
}

/** Undefined when the schema throws. */
function validated(
  schema: AnyJobQuery["inputSchema"],
  value: unknown,
): Promise<Awaited<ReturnType<typeof validateValue>> | undefined> {
  return validateValue(schema, value, configurationLimits).catch(() => undefined);
}
