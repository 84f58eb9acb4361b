import type { JobSubmitInput } from "../../submission/job-submit-input.ts";
import type {
  JobAccepted,
  JobOutcomeUnknown,
  JobRefusalCode,
  JobRefused,
  JobValidationIssue,
} from "../../submission/job-submit-outcome.ts";

/** Which submission an outcome is about. */
export interface Submission {
  readonly hostId: string;
  readonly request: JobSubmitInput;
  readonly requestDigest: string;
}

/** The job exists. Deeply frozen, as the other outcomes. */
export function acceptedOutcome(
  { hostId, request, requestDigest }: Submission,
  jobId: string,
  deduplicated: boolean,
): JobAccepted {
  const reference = Object.freeze({ hostId, jobId });
  const { submissionKey } = request;
  return Object.freeze({
    status: "accepted",
    hostId,
    submissionKey,
    reference,
    requestDigest,
    deduplicated,
  });
}

/** There is no job from it. */
export function refusedOutcome(
  { hostId, request }: Submission,
  refusal: { readonly code: JobRefusalCode; readonly issues?: readonly JobValidationIssue[] },
): JobRefused {
  const { code, issues } = refusal;
  const { submissionKey } = request;
  return Object.freeze({ status: "refused", hostId, submissionKey, code, ...(issues && { issues }) });
}

/** There is a job of another request under its key. */
export function conflictOutcome({ hostId, request }: Submission, jobId: string): JobRefused {
  const { submissionKey } = request;
  const reference = Object.freeze({ hostId, jobId });
  return Object.freeze({
    status: "refused",
    hostId,
    submissionKey,
    code: "SUBMISSION_KEY_CONFLICT",
    reference,
  });
}

/** Nobody can say yet. */
export function unknownOutcome({ hostId, request, requestDigest }: Submission): JobOutcomeUnknown {
  return Object.freeze({
    status: "unknown",
    hostId,
    submissionKey: request.submissionKey,
    requestDigest,
  });
}
