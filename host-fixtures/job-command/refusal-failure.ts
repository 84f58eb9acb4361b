import type { JobCallRefusalCode } from "../../job-provider/host/index.ts";
import type { JobRefusalCode, JobValidationIssue } from "../../job-provider/index.ts";
import { CommandFailure, type FailureExit } from "../app-command/command-failure.ts";

/** A refusal of the host as the failure of a command. Issues are told by their places: what they say may quote a value. */
export function refusalFailure(refused: {
  readonly code: JobRefusalCode | JobCallRefusalCode;
  readonly issues?: readonly JobValidationIssue[];
}): CommandFailure {
  const [exitCode, message] = refusals[refused.code];
  const places = (refused.issues ?? [])
    .slice(0, 10)
    .map(({ pointer }) =>
      pointer === "" ? "the value itself, such as by a key that is not known" : JSON.stringify(pointer),
    );
  return new CommandFailure(
    exitCode,
    refused.code,
    places.length === 0 ? message : `${message}, at ${places.join(", ")}`,
  );
}

const refusals: Readonly<Record<JobRefusalCode | JobCallRefusalCode, readonly [FailureExit, string]>> = {
  PROVIDER_NOT_FOUND: [3, "the host runs no such provider: check lists those that it runs"],
  PROVIDER_MANIFEST_CHANGED: [2, "the provider is another one than the request names: read it again"],
  REQUIREMENT_NOT_MET: [1, "the host does not meet a requirement of the provider"],
  REVISION_NOT_FOUND: [3, "the store has no such revision: seal the input again"],
  REVISION_CHANGED: [1, "the revision has other files than its digest says: seal the input again"],
  INPUT_FILE_MISSING: [2, "a path of the input is no file of the revision, or none beside the others"],
  CONFIGURATION_INVALID: [2, "the provider's schema refuses the configuration"],
  EFFECTIVE_DIGEST_MISMATCH: [2, "the effective configuration is another one than the request expects"],
  SUBMISSION_KEY_CONFLICT: [
    2,
    "there is a job under the submission key, from another request: look at it before you take another key",
  ],
  JOB_NOT_FOUND: [3, "the host keeps no such job"],
  JOB_TERMINAL: [1, "the job has ended"],
  REVISION_MISMATCH: [1, "the job is at another revision: get it, look, and decide again"],
  ATTENTION_NOT_REQUIRED: [1, "the job asks for no attention"],
  OPERATION_NOT_FOUND: [3, "the provider has nothing of this name: check lists queries and commands"],
  INPUT_INVALID: [2, "the provider's schema refuses the input"],
  COMMAND_CONFLICT: [2, "the command id was used for something else: take another id"],
  COMMAND_OUTCOME_UNKNOWN: [1, "nobody knows how the command ended: look at what it acts on"],
  PROVIDER_EXECUTION_FAILED: [
    1,
    "the provider failed: its words are on the standard error of the process that ran it. A command keeps this answer under its id; a new id asks again",
  ],
  RESULT_INVALID: [2, "the provider's schema refuses the result"],
  ARTIFACT_MISSING: [1, "an artifact that the provider promises is missing"],
  ARTIFACT_MISMATCH: [1, "an artifact is not what was published, or there are too many of a role"],
};
