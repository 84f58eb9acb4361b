import type { JsonValue } from "../../../capability/index.ts";
import type { JobValidationIssue } from "../../submission/job-submit-outcome.ts";

/** Why a call about a job is refused. Stable: a code is never reused for another meaning. */
export const jobCallRefusalCodes = [
  /** The host keeps no such job. */
  "JOB_NOT_FOUND",
  /** The job has ended. */
  "JOB_TERMINAL",
  /** The job is at another revision than expected: read it again. */
  "REVISION_MISMATCH",
  /** The job asks nobody. */
  "ATTENTION_NOT_REQUIRED",
  /** The host runs no provider of the job's id. */
  "PROVIDER_NOT_FOUND",
  /** The provider has no query, or no command, of this name. */
  "OPERATION_NOT_FOUND",
  /** The value is no JSON, or its schema refuses it; `issues` say where. */
  "INPUT_INVALID",
  /** The command id was used with another name or value. */
  "COMMAND_CONFLICT",
  /** Nobody knows how the command ended, and its policy forbids to run it again. */
  "COMMAND_OUTCOME_UNKNOWN",
  /** The provider threw. */
  "PROVIDER_EXECUTION_FAILED",
  /** The result is no JSON, or its schema refuses it. */
  "RESULT_INVALID",
  /** A role has fewer artifacts than its minimum, or the store lacks one. */
  "ARTIFACT_MISSING",
  /** An artifact's bytes are others than were published, or a role has more than its maximum. */
  "ARTIFACT_MISMATCH",
] as const;

/** One of {@link jobCallRefusalCodes}. */
export type JobCallRefusalCode = (typeof jobCallRefusalCodes)[number];

/** A call that changed nothing, or whose provider gave no result. */
export interface JobCallRefused {
  readonly ok: false;
  readonly code: JobCallRefusalCode;
  readonly issues?: readonly JobValidationIssue[];
}

/** What a query or a command answers. */
export type JobCallOutcome = { readonly ok: true; readonly value: JsonValue } | JobCallRefused;

/** A refusal, frozen. */
export function refuseCall(code: JobCallRefusalCode, issues?: readonly JobValidationIssue[]): JobCallRefused {
  return Object.freeze({ ok: false, code, ...(issues && { issues }) });
}
