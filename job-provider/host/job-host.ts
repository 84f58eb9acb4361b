import type { StopOptions } from "../../tasks/provider.ts";
import type { JobProjectionEvent } from "../lifecycle/job-events.ts";
import type { JobLifecycleState } from "../lifecycle/job-lifecycle.ts";
import type { JobReference, JobSnapshot } from "../lifecycle/job-snapshot.ts";
import type { JobReadableArtifact } from "../provider/job-artifact.ts";
import type { JobSubmitInput } from "../submission/job-submit-input.ts";
import type { JobSubmitOutcome } from "../submission/job-submit-outcome.ts";
import type { JobWorker, JobWorkerOptions } from "./attempt/start-job-worker.ts";
import type { JobCommandRequest } from "./commands/command-job.ts";
import type { JobCallOutcome, JobCallRefused } from "./commands/job-call-outcome.ts";
import type { JobResolution, JobResolutionOutcome } from "./commands/resolve-job-attention.ts";
import type { JobInspection } from "./records/inspect-job.ts";
import type { JobListEntry } from "./records/list-jobs.ts";
import type { JobLogLine } from "./records/list-logs.ts";
import type { JobProgress } from "./records/read-progress.ts";
import type { JobResult } from "./records/read-result.ts";
import type { JobWatchOptions } from "./watch-job.ts";

/**
 * Keeps jobs and runs them. Whatever cannot be answered rejects with a `JobHostError`; a malformed argument with a `TypeError` that names it.
 * A reference to another host, or to no job, is not found: null where something is read, `JOB_NOT_FOUND` where something is asked for.
 */
export interface JobHost {
  /**
   * Asks for a job. A lost answer is `unknown`: submit the same request under the same key again.
   *
   * @throws TypeError for a malformed request; the signal's reason, as long as nothing has been sent
   */
  submit(request: JobSubmitInput): Promise<JobSubmitOutcome>;
  /** The job as its events tell it. */
  get(reference: JobReference): Promise<JobSnapshot | null>;
  /** Where the job stands, and what it waits for: attempts, lease, dispatch, progress. */
  inspect(reference: JobReference): Promise<JobInspection | null>;
  /** One page of jobs, by ascending id: about the order of their acceptance. */
  list(request?: JobListRequest): Promise<JobPage>;
  /** The job's events from a revision on, each once and in order, until it has ended. Leave the loop, or abort the signal, to stop. */
  watch(
    reference: JobReference,
    options?: JobWatchOptions,
  ): AsyncIterableIterator<JobProjectionEvent, undefined>;
  /** How the job ended, or where it stands. */
  result(reference: JobReference): Promise<JobResult | null>;
  /** What counts of what the job has published, in the order of publication. */
  artifacts(reference: JobReference): Promise<readonly JobReadableArtifact[] | null>;
  /** The latest progress; null before the first, too. */
  progress(reference: JobReference): Promise<JobProgress | null>;
  /** One page of the job's log, in the order in which it was recorded. */
  logs(reference: JobReference, request?: JobLogRequest): Promise<JobLogPage | null>;
  /**
   * Cancels the job at once, also while it runs: from here on nothing that its attempt writes is accepted, and its signal aborts soon. Cancelling
   * again is fine. Refused: `JOB_TERMINAL` for one that has completed or failed, `JOB_NOT_FOUND`.
   */
  cancel(reference: JobReference): Promise<JobCancelOutcome>;
  /** Carries out what a person decided about a job that asks for attention, if it still stands where the person saw it. */
  resolveAttention(
    reference: JobReference,
    request: { readonly expectedRevision: number; readonly signal?: AbortSignal } & JobResolution,
  ): Promise<JobResolutionOutcome>;
  /** Asks the job's provider, in this process. */
  query(reference: JobReference, name: string, request?: JobQueryRequest): Promise<JobCallOutcome>;
  /**
   * Has the job's provider do something, in this process and under a record: the same command id and value gives the recorded result, also in
   * another process and after a crash.
   */
  command(reference: JobReference, name: string, request: JobCommandRequest): Promise<JobCallOutcome>;
  /** Works jobs until it is stopped. Any number of processes may. */
  startWorker(options?: JobWorkerOptions): JobWorker;
  /**
   * Ends watches, stops the workers as `stop` does with these options, waits for calls and closes the host's own connections. Afterwards
   * everything is `closed`. Safe twice: all calls share one close, and a later one with `abort` hurries it.
   */
  close(options?: StopOptions): Promise<void>;
}

/** Which jobs are listed. */
export interface JobListRequest {
  readonly state?: JobLifecycleState;
  readonly providerId?: string;
  /** 1..100, default 50. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** Some jobs, and where the next page begins: null on the last one. */
export interface JobPage {
  readonly jobs: readonly JobListEntry[];
  readonly next: string | null;
}

/** Which lines of a log are read. */
export interface JobLogRequest {
  /** The ordinal that the caller has seen last. Default 0. */
  readonly after?: number;
  /** 1..1000, default 100. */
  readonly limit?: number;
}

/** Some lines; `next` is the `after` of the following page, null when there is nothing more yet. */
export interface JobLogPage {
  readonly lines: readonly JobLogLine[];
  readonly next: number | null;
}

/** What a query is asked with. */
export interface JobQueryRequest {
  /** JSON for the query's input schema. Default: null. */
  readonly value?: unknown;
  readonly signal?: AbortSignal;
}

/** The job is cancelled, and at which revision; or why not. */
export type JobCancelOutcome = { readonly ok: true; readonly revision: number } | JobCallRefused;
