import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Task } from "./define-task.ts";
import type { TaskLogger } from "./logger.ts";
import type { CancelOutcome, JobPage, JobStatus, TaskProvider, TaskWorker } from "./provider.ts";
import type { KeyHolder, QueueIdentity } from "./provider-answers.ts";

/** A durable queue of typed tasks. Every method rejects with a `TaskQueueError`. */
export interface TaskQueue<Known extends Task = Task> {
  /**
   * Stores a job and resolves to its id. `task` is the very object that the queue was created with. After
   * `provider-unavailable` the job may exist nevertheless: with a deduplication key, look it up or enqueue again.
   */
  enqueue<T extends Known>(
    task: T,
    input: StandardSchemaV1.InferInput<T["input"]>,
    options?: EnqueueOptions,
  ): Promise<string>;
  /** Null once the job has been pruned, which does not prove that it never ran. */
  get(jobId: string): Promise<JobStatus | null>;
  /** One page by ascending job id, of the tasks named only. */
  list(query: ListQuery<Known>): Promise<JobPage>;
  /** `cancelled`: it will never run. `requested`: it is running, and ends as cancelled once its handler has ended. */
  cancel(jobId: string): Promise<CancelOutcome>;
  /**
   * Gives a job that failed for good exactly one more attempt, due at once, and is true; false for any other job. Id, input and attempt
   * count stay, the cancel flag and the error go, and `maxAttempts` becomes `attempt + 1`, also where a final failure had left some of
   * the task's attempts unused: when the new one fails, the job has failed for good again. Of many retries at once one is true.
   */
  retry(jobId: string): Promise<boolean>;
  /** What tells this durable queue from any other, also after a restart. */
  identity(): Promise<QueueIdentity>;
  /** The job of a key, without writing: what became of an enqueue whose answer was lost. */
  lookupDeduplicationKey(key: string): Promise<KeyHolder | null>;
  /** Works until it is stopped. @throws TaskQueueError */
  startWorker(options?: WorkerOptions): TaskWorker;
  /** Works what is due now and resolves after the drain. */
  runBatch(options?: BatchOptions): Promise<void>;
  /** Stops the workers, then closes the provider. Every call gets the promise of the first. */
  close(options?: CloseOptions): Promise<void>;
}

export interface EnqueueOptions {
  /** Not before this time. Default: at once. */
  readonly runAt?: Date;
  /** 1..256 bytes. One key is one job of this queue: the same task and input again give the same id, others a conflict. */
  readonly deduplicationKey?: string;
  /**
   * The caller's own open transaction, in a form that the provider documents (kysely, drizzle, pg…): the job exists when it commits, and
   * never without the caller's own rows. Where a statement of the transaction has failed, so does the enqueue.
   */
  readonly transaction?: unknown;
}

export interface ListQuery<Known extends Task = Task> {
  /** Tasks of this queue, or their names. */
  readonly tasks: readonly (Known | Known["name"])[];
  /** 1..100, default 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string;
}

export interface WorkerOptions {
  /** How many handlers run at once in this worker, 1..100. Default 1. */
  readonly concurrency?: number;
  /** Longest run of one handler before its signal aborts, in ms. The attempt counts as failed and is retried. Default: none. */
  readonly timeoutMs?: number;
}

export interface BatchOptions extends WorkerOptions {
  /** Most jobs of this batch, 1..100 000. Default 100. */
  readonly maxJobs?: number;
}

export interface CloseOptions {
  /**
   * How long handlers may take to end, in ms. Then their signals abort, and one that has not ended a second later is reported to the
   * logger and left behind: its claim is no longer renewed, so its job runs again elsewhere. Default: as long as they need.
   */
  readonly drainMs?: number;
}

export interface TaskQueueOptions<Tasks extends readonly Task[]> {
  readonly provider: TaskProvider;
  /** All tasks of the queue, each name once. Every worker of a queue should know all of them. */
  readonly tasks: Tasks;
  /**
   * Where the real errors of handlers go, and why a worker ended that could not go on. A pino logger fits. Default: one line on
   * `console.error` for each, with the error's class and no message of a handler or a driver. False: silence.
   */
  readonly logger?: TaskLogger | false;
}
