import type { JobLifecycleState } from "../../lifecycle/job-lifecycle.ts";
import type { JobRecovery } from "../../provider/job-recovery.ts";

/** How a job goes on after a lost attempt: `job.recovery`, fixed at acceptance. */
export type RecoveryMode = JobRecovery["mode"];

/** Why a job failed, asks for attention, or lost an attempt: `job.code` and `event.code`. Stable. */
export type JobReasonCode =
  | "PROVIDER_EXECUTION_FAILED"
  | "RESULT_INVALID"
  | "ARTIFACT_MISSING"
  | "ARTIFACT_MISMATCH"
  | "ATTEMPT_LOST"
  | "ATTEMPTS_EXHAUSTED"
  /** A command's runner died, and its policy asks for a person. */
  | "COMMAND_OUTCOME_UNKNOWN"
  /** A person failed it by `resolveAttention`. */
  | "RESOLVED_AS_FAILED";

/** The states of a job that the sweep looks after, as SQL. `attention_required` waits for a person. */
export const openStates = "('queued', 'running', 'waiting')";

/** The Jobs job that carries a record, and its delivery: what an attempt must hold to write. */
export interface Fence {
  /** The record's id, which is the job's public id. */
  readonly id: string;
  readonly dispatch: number;
  /** Of the Jobs job. */
  readonly jobId: string;
  /** The attempt number of the Jobs job. */
  readonly delivery: number;
}

/** A dispatch that is recorded and may not have been enqueued. */
export interface Dispatch {
  readonly id: string;
  readonly dispatch: number;
  /** RFC 3339 with microseconds, fixed when it was recorded: the same text at every try. */
  readonly runAt: string;
}

/** The hot part of a job's row, as statements return it. */
export interface JobStanding {
  readonly id: string;
  readonly state: JobLifecycleState;
  readonly revision: number;
  readonly dispatch: number;
  readonly code: JobReasonCode | null;
}

/** A text of a caller's as the database keeps it: a JSON string, so that it may hold U+0000. Equal texts have equal forms. */
export function asJson(text: string): string {
  return JSON.stringify(text);
}

/** The text again. */
export function fromJson(stored: unknown): string {
  return JSON.parse(stored as string) as string;
}
