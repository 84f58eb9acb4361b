import { validateValue } from "../../configuration/validate-value.ts";
import { isTerminalJobState } from "../../lifecycle/job-lifecycle.ts";
import type { JobSnapshot } from "../../lifecycle/job-snapshot.ts";
import { configurationLimits } from "../../submission/read-configuration.ts";
import { checkCompletion } from "../attempt/check-completion.ts";
import type { HostParts } from "../host-parts.ts";
import { JobHostError } from "../job-host-error.ts";
import { listArtifacts } from "../records/list-artifacts.ts";
import { readJob } from "../records/read-job.ts";
import { type AttentionEnd, resolveAttentionIfAsked } from "../records/resolve-attention.ts";
import { type JobCallRefused, refuseCall } from "./job-call-outcome.ts";

/** What a person decides about a job that asks for attention. */
export type JobResolution =
  /** It was done after all. The provider's schema validates the result, and the declared artifacts have to be there. */
  | { readonly action: "complete"; readonly result: unknown }
  | { readonly action: "fail" }
  | { readonly action: "cancel" }
  /** Run it again from its input; it gets one more attempt when all are used up. */
  | { readonly action: "requeue" };

/** A decision that was carried out, and the job's revision after it; or why not. */
export type JobResolutionOutcome = { readonly ok: true; readonly revision: number } | JobCallRefused;

/** Carries out a decision about a job that asks for attention, if it still is at the revision that the person saw. */
export async function resolveJobAttention(
  host: HostParts,
  id: string,
  decided: {
    readonly expectedRevision: number;
    readonly resolution: JobResolution;
    readonly signal: AbortSignal;
  },
): Promise<JobResolutionOutcome> {
  const { expectedRevision, resolution, signal } = decided;
  const job = await readJob(host.records, id);
  const refusal = refusalOf(job, expectedRevision);
  if (job === undefined || refusal !== undefined) return refusal ?? refuseCall("JOB_NOT_FOUND");
  const end = await endOf(host, job, resolution, signal);
  if ("ok" in end) return end;
  const resolved = await resolveAttentionIfAsked(host.records, id, { revision: expectedRevision, end });
  if (resolved === undefined)
    return refusalOf(await readJob(host.records, id), expectedRevision) ?? refuseCall("REVISION_MISMATCH");
  if (resolved.dispatch !== undefined) host.inBackground(host.dispatch(resolved.dispatch));
  return Object.freeze({ ok: true, revision: resolved.revision });
}

function refusalOf(job: JobSnapshot | undefined, expectedRevision: number): JobCallRefused | undefined {
  if (job === undefined) return refuseCall("JOB_NOT_FOUND");
  if (isTerminalJobState(job.state)) return refuseCall("JOB_TERMINAL");
  if (job.revision !== expectedRevision) return refuseCall("REVISION_MISMATCH");
  return job.state === "attention_required" ? undefined : refuseCall("ATTENTION_NOT_REQUIRED");
}

async function endOf(
  host: HostParts,
  job: JobSnapshot,
  resolution: JobResolution,
  signal: AbortSignal,
): Promise<AttentionEnd | JobCallRefused> {
  switch (resolution.action) {
    case "fail":
      return { state: "failed", code: "RESOLVED_AS_FAILED" };
    case "cancel":
      return { state: "cancelled" };
    case "requeue":
      return { state: "queued" };
    case "complete":
      return completionOf(host, job, resolution.result, signal);
  }
}

/** A completion by a person keeps every promise that one by an attempt keeps. */
async function completionOf(
  host: HostParts,
  job: JobSnapshot,
  result: unknown,
  signal: AbortSignal,
): Promise<AttentionEnd | JobCallRefused> {
  const provider = host.providers.get(job.provider.id);
  if (provider === undefined) return refuseCall("PROVIDER_NOT_FOUND");
  const { descriptor, runnable } = provider;
  const validation = await validateValue(runnable.resultSchema, result, configurationLimits).catch(
    (cause: unknown) => {
      throw new JobHostError("provider-failed", { cause });
    },
  );
  if (!validation.ok) return refuseCall("RESULT_INVALID", validation.issues);
  const artifacts = await listArtifacts(host.records, job.reference.jobId);
  const problem = await checkCompletion(host.artifacts, descriptor.artifacts, artifacts, signal).catch(
    (cause: unknown) => {
      signal.throwIfAborted();
      throw new JobHostError("store-failed", { cause });
    },
  );
  if (problem !== undefined) return refuseCall(problem.code);
  return { state: "completed", result: JSON.stringify(validation.value) };
}
