import type { JobReference } from "../lifecycle/job-snapshot.ts";

/** One thing that is wrong with a value, and where. */
export interface JobValidationIssue {
  /** JSON pointer (RFC 6901) into the value; empty for the whole. */
  readonly pointer: string;
  /** In words, at most 1024 UTF-16 code units. It may quote the caller's value: show it to the caller and to nobody else. */
  readonly message: string;
}

/** Why a submission is refused. Stable: a code is never reused for another meaning. */
export const jobRefusalCodes = [
  /** The host runs no provider of this id and version. */
  "PROVIDER_NOT_FOUND",
  /** The provider's manifest is another one than the caller saw: read it again. */
  "PROVIDER_MANIFEST_CHANGED",
  /** The host's facts do not meet a requirement of the provider. */
  "REQUIREMENT_NOT_MET",
  /** The authority does not know the revision. */
  "REVISION_NOT_FOUND",
  /** The revision's files have another tree digest. */
  "REVISION_CHANGED",
  /** A path of the input is no file of the revision, or none that an attempt can have beside the others; `issues` say which. */
  "INPUT_FILE_MISSING",
  /** The schema refuses the configuration; `issues` say where. */
  "CONFIGURATION_INVALID",
  /** Defaults or the schema made another configuration than the caller expects. */
  "EFFECTIVE_DIGEST_MISMATCH",
  /** The submission key is taken by a request with another digest. */
  "SUBMISSION_KEY_CONFLICT",
] as const;

/** One of {@link jobRefusalCodes}. */
export type JobRefusalCode = (typeof jobRefusalCodes)[number];

/** What every outcome carries, so that it can be reconciled. */
interface Reconcilable {
  readonly hostId: string;
  readonly submissionKey: string;
}

/** The job exists; it did before when `deduplicated` is true. */
export interface JobAccepted extends Reconcilable {
  readonly status: "accepted";
  readonly reference: JobReference;
  readonly requestDigest: string;
  readonly deduplicated: boolean;
}

/** There is no job from this request: none had been recorded under its key, and none was being recorded. */
export interface JobRefused extends Reconcilable {
  readonly status: "refused";
  readonly code: JobRefusalCode;
  readonly issues?: readonly JobValidationIssue[];
  /** The job that holds the key, with `SUBMISSION_KEY_CONFLICT`: look at it before you take another key. */
  readonly reference?: JobReference;
}

/** The reply was lost: there may be a job. Submit the same request under the same key to learn it. */
export interface JobOutcomeUnknown extends Reconcilable {
  readonly status: "unknown";
  readonly requestDigest: string;
}

/** What became of a submission. */
export type JobSubmitOutcome = JobAccepted | JobRefused | JobOutcomeUnknown;
