/** Why an attempt's signal aborted. `name` tells the sources apart. */
export abstract class AbortReason extends Error {}

/** Somebody cancelled the job. */
export class JobCancelled extends AbortReason {
  override readonly name = "JobCancelled";

  constructor() {
    super("the job was cancelled");
  }
}

/** The attempt ran longer than its worker allows. Retryable. */
export class TimedOut extends AbortReason {
  override readonly name = "TimedOut";

  constructor(timeoutMs: number) {
    super(`the handler ran longer than ${timeoutMs} ms`);
  }
}

/** The worker was told to stop and to abort what runs. Retryable. */
export class WorkerStopping extends AbortReason {
  override readonly name = "WorkerStopping";

  constructor() {
    super("the worker is stopping");
  }
}

/** The claim is no longer ours, or can no longer be proven to be. What this attempt still does may happen a second time. */
export class ClaimLost extends AbortReason {
  override readonly name = "ClaimLost";
  readonly jobId: string;
  readonly attempt: number;

  constructor(claim: { readonly jobId: string; readonly attempt: number }, why: string) {
    super(`attempt ${claim.attempt} of job ${claim.jobId}: ${why}`);
    this.jobId = claim.jobId;
    this.attempt = claim.attempt;
  }
}

/** A handler ignored its signal until the worker had to end without it. Told to `onError`; what the handler still does may happen a second time. */
export class HandlerLeft extends AbortReason {
  override readonly name = "HandlerLeft";

  constructor(claim: { readonly jobId: string; readonly attempt: number; readonly task: string }) {
    super(
      `attempt ${claim.attempt} of job ${claim.jobId} (${claim.task}): its handler did not end after its signal aborted`,
    );
  }
}
