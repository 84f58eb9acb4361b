import type { JsonValue } from "../capability/index.ts";

/** What became of an attempt, as it is stored: never a message, a stack or an input. */
export type ErrorCode = "handler-failed" | "invalid-input" | "invalid-result" | "aborted";

/** `running` with a cancel request stays `running` until the handler has really ended. */
export type JobState = "pending" | "running" | "succeeded" | "failed" | "cancelled";

/** What a queue knows of one job. */
export interface JobStatus {
  readonly jobId: string;
  readonly task: string;
  readonly state: JobState;
  /** 0 before the first attempt. No business key: a lost claim may use a number up. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly cancelRequested: boolean;
  readonly result: JsonValue | null;
  readonly error: ErrorCode | null;
}

/** One line of a page: no input, result or error. */
export type JobSummary = Omit<JobStatus, "result" | "error">;

/** One page by ascending job id. */
export interface JobPage {
  readonly jobs: readonly JobSummary[];
  /** Pass as `after` for the next page; null on the last. */
  readonly next: string | null;
}

/** Retry policy of a task, checked when it was defined. */
export interface RetryPolicy {
  readonly delaySeconds: number;
  readonly backoff: boolean;
  readonly maxDelaySeconds?: number;
}

/** A checked job on its way to storage. `input` is plain JSON. */
export interface ProviderEnqueue {
  readonly task: string;
  readonly input: JsonValue;
  readonly maxAttempts: number;
  readonly retry?: RetryPolicy;
  readonly runAt?: Date;
  readonly deduplicationKey?: string;
  /** A caller's own transaction, in whatever form the provider documents. */
  readonly transaction?: unknown;
  readonly traceparent?: string;
}

/** A job that a worker holds, as the queue's `execute` gets it. */
export interface ClaimedTask {
  readonly jobId: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly task: string;
  /** The raw JSON that was stored. */
  readonly input: JsonValue;
  readonly traceparent?: string;
}

/** How `execute` ends; it never throws for what a handler did. `final` says that another attempt cannot help. */
export type ExecutionResult =
  | { readonly ok: true; readonly result: JsonValue | null }
  | {
      readonly ok: false;
      readonly error: ErrorCode;
      readonly final: boolean;
      /** The next attempt begins that many seconds later at the earliest, whatever the task's policy says. Left out: no bound. */
      readonly afterSeconds?: number;
    };

export type Execute = (claimed: ClaimedTask) => Promise<ExecutionResult>;

export interface ProviderWorkerOptions {
  /** 1..100, this worker only. */
  readonly concurrency: number;
  /** Longest run of one handler before its signal aborts, in ms. Undefined: none. */
  readonly timeoutMs?: number;
  /** Works at most that many, what is due now, and then ends. Undefined: works until it is stopped. */
  readonly maxJobs?: number;
}

/** A running worker. */
export interface TaskWorker {
  /** Resolves after the drain; rejects only when an outage outlasts its bound or the queue cannot work at all. */
  readonly done: Promise<void>;
  /** Stops claiming and waits for the handlers. Safe twice; a later call may add an abort. Never rejects because of a handler. */
  stop(options?: StopOptions): Promise<void>;
}

export interface StopOptions {
  /** Aborts the handlers' signals at once. They still have to end: nothing is freed by a race. */
  readonly abort?: boolean;
  /** With `abort`: after so many ms handlers that ignore it are reported and left, their claims no longer renewed. Default: never. */
  readonly graceMs?: number;
}

export type CancelOutcome = "cancelled" | "requested" | "terminal" | "missing";

/** Where jobs are kept and run. Rejects with a TaskQueueError; what a caller asked wrong was refused before. */
export interface TaskProvider {
  enqueue(request: ProviderEnqueue): Promise<string>;
  get(jobId: string): Promise<JobStatus | null>;
  cancel(jobId: string): Promise<CancelOutcome>;
  retry(jobId: string): Promise<boolean>;
  startWorker(execute: Execute, options: ProviderWorkerOptions): TaskWorker;
  close(): Promise<void>;
  list?(query: {
    readonly tasks: readonly string[];
    readonly limit: number;
    readonly after?: string;
  }): Promise<JobPage>;
  identity?(): Promise<{ readonly kind: string; readonly id: string }>;
  lookupDeduplicationKey?(
    key: string,
  ): Promise<{ readonly jobId: string; readonly status: JobStatus | null } | null>;
}
