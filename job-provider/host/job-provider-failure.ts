import { callQuietly } from "../../tasks/logger.ts";
import type { JobReference } from "../lifecycle/job-snapshot.ts";
import type { HostParts } from "./host-parts.ts";
import type { JobReasonCode } from "./records/record-types.ts";

/** Of what a provider failed: which job, in what, and with which code. */
export interface JobProviderFailureFacts {
  readonly job: JobReference;
  readonly providerId: string;
  /** `attempt 1.1`, `query NAME` or `command NAME`. */
  readonly during: string;
  readonly code: JobReasonCode;
}

/**
 * Told to `onError` when a provider fails a job, a query or a command: what it threw, or what is wrong with what it returned, is `cause`.
 * This is the one place that has the provider's own words, which may hold anything: no record and no answer has them.
 */
export class JobProviderFailure extends Error implements JobProviderFailureFacts {
  override readonly name = "JobProviderFailure";
  readonly job: JobReference;
  readonly providerId: string;
  readonly during: string;
  readonly code: JobReasonCode;

  constructor({ job, providerId, during, code }: JobProviderFailureFacts, options: ErrorOptions) {
    super(`${code}, provider ${providerId}, ${during} of job ${job.jobId}`, options);
    this.job = job;
    this.providerId = providerId;
    this.during = during;
    this.code = code;
  }
}

/** Tells the host's `onError` of a provider's failure. Never throws. */
export function tellProviderFailure(
  { hostId, onError }: Pick<HostParts, "hostId" | "onError">,
  { jobId, ...facts }: Omit<JobProviderFailureFacts, "job"> & { readonly jobId: string },
  cause: unknown,
): void {
  const job = Object.freeze({ hostId, jobId });
  callQuietly(() => onError?.(new JobProviderFailure({ ...facts, job }, { cause })));
}
