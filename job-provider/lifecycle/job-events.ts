import type { JobLifecycleState } from "./job-lifecycle.ts";
import type { JobSnapshot } from "./job-snapshot.ts";

/** The first event of a job: it exists and is queued, with all that it is bound to. */
export interface JobAcceptedEvent
  extends Pick<JobSnapshot, "reference" | "provider" | "input" | "configuration"> {
  readonly type: "job-accepted";
  readonly revision: 1;
}

/** The job moved to another state. */
export interface JobLifecycleEvent {
  readonly type: "job-lifecycle-changed";
  /** The one before, plus 1. */
  readonly revision: number;
  readonly reference: JobSnapshot["reference"];
  readonly state: JobLifecycleState;
}

/** What a job's snapshot is projected from. */
export type JobProjectionEvent = JobAcceptedEvent | JobLifecycleEvent;
