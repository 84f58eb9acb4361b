import * as v from "valibot";
import type { JobsClient, SignalsClient } from "../../capability/index.ts";
import { checkOptions, having, integer, milliseconds, workerFields } from "../check-options.ts";
import { consoleLogger } from "../console-logger.ts";
import { callQuietly, quietLogger, type TaskLogger } from "../logger.ts";
import type { TaskWorker } from "../provider.ts";
import { runWorker } from "../worker/run-worker.ts";
import { createJobExecute, type JobHandler } from "./execute-job.ts";
import { JobsBackend } from "./jobs-backend.ts";

export interface JobsWorkerOptions {
  /** A client of `lenso.jobs@1` whose Instance may work. */
  readonly jobs: JobsClient;
  /** A client of `lenso.jobs-signals@1`, to be woken instead of polling. */
  readonly signals?: SignalsClient;
  readonly queue: string;
  /** All kinds of the queue, each once. A job of another kind fails as `unknown_kind` and is retried. */
  readonly handlers: readonly JobHandler[];
  /** How many handlers run at once, 1..100. Default 1. */
  readonly concurrency?: number;
  /** Longest run of one handler before its signal aborts, in ms. Default: none. */
  readonly timeoutMs?: number;
  /**
   * `lease_seconds` of the Jobs Instance. Default: learnt by an `inspect` of the first job. More than the Instance's makes the worker
   * believe in leases that have expired; the database still refuses its stale writes.
   */
  readonly leaseSeconds?: number;
  /** Longest time between two looks at an idle queue, in ms. Default 1000, with `signals` 10 000. */
  readonly pollIntervalMs?: number;
  /** How long the queue may be out of reach before `done` rejects, in ms. Default 300 000. */
  readonly maxOutageMs?: number;
  /** Told when calls start to fail, about each attempt whose end could not be recorded, and why the worker ended if it failed. */
  readonly onError?: (error: unknown) => void;
  /**
   * Where the real errors of handlers go, and what `onError` is told. A pino logger fits. Default: one line on `console.error` for each,
   * with the error's class and no message of a handler. False: silence.
   */
  readonly logger?: TaskLogger | false;
}

/**
 * Starts a worker straight on `lenso.jobs@1`, for modules that own their payloads. It renews, aborts a handler before its lease can
 * expire, and settles again when a reply is lost.
 *
 * Stored failure codes: what a `JobFailure` says, or `handler_failed`, `unknown_kind`, `timed_out`, `worker_stopping` (retryable) and
 * `invalid_payload` (final).
 *
 * @throws TaskQueueError `invalid-options`; `cause` names the key.
 * @example
 * const worker = createJobsWorker({
 *   jobs: createJobsClient(context.handle("jobs")),
 *   queue: "mail",
 *   handlers: [handleKind(sendMail, ({ to }, { signal }) => deliver(to, signal))],
 *   concurrency: 10,
 * });
 * // …
 * await worker.stop();
 */
export function createJobsWorker(options: JobsWorkerOptions): TaskWorker {
  const checked = checkOptions(Options, options, "work");
  const { jobs, signals, queue, leaseSeconds, logger, onError, handlers } = checked;
  const backend = new JobsBackend({
    jobs,
    queue,
    callTimeoutMs,
    ...(signals === undefined ? {} : { signals }),
    ...(leaseSeconds === undefined ? {} : { leaseMs: leaseSeconds * 1000 }),
  });
  const quiet = quietLogger(logger === false ? undefined : (logger ?? consoleLogger));
  const handlersLog = logger !== undefined && logger !== false;
  const byKind = new Map(handlers.map((handler) => [handler.kind.kind, handler]));
  const report = (err: unknown): void => {
    quiet.error({ err }, "the jobs worker met a problem");
    callQuietly(() => onError?.(err));
  };
  const worker = runWorker(backend, createJobExecute(byKind, quiet, handlersLog), {
    concurrency: checked.concurrency,
    callTimeoutMs,
    pollIntervalMs: checked.pollIntervalMs ?? (signals ? 10_000 : 1000),
    onError: report,
    ...(checked.timeoutMs === undefined ? {} : { timeoutMs: checked.timeoutMs }),
    ...(checked.maxOutageMs === undefined ? {} : { maxOutageMs: checked.maxOutageMs }),
  });
  worker.done.catch(report);
  return worker;
}

const callTimeoutMs = 10_000;

const Options = v.strictObject({
  jobs: having<JobsClient>("a client of lenso.jobs@1", ["claim", "renew", "complete", "fail", "inspect"]),
  signals: v.exactOptional(having<SignalsClient>("a client of lenso.jobs-signals@1", ["wait"])),
  queue: v.pipe(v.string(), v.regex(/^[A-Za-z0-9._:/-]{1,128}$/, "expected 1..128 of A-Z a-z 0-9 . _ - : /")),
  handlers: v.pipe(
    v.array(
      v.custom<JobHandler>(
        (value) => typeof (value as JobHandler | null)?.handler === "function",
        "expected a handler from handleKind",
      ),
    ),
    v.minLength(1, "expected at least one handler"),
    v.check(
      (handlers) => new Set(handlers.map(({ kind }) => kind.kind)).size === handlers.length,
      "expected each kind once",
    ),
  ),
  ...workerFields,
  leaseSeconds: v.exactOptional(integer(1, 3600)),
  pollIntervalMs: v.exactOptional(integer(1, 3_600_000)),
  maxOutageMs: v.exactOptional(milliseconds),
  onError: v.exactOptional(
    v.custom<(error: unknown) => void>((value) => typeof value === "function", "expected a function"),
  ),
  logger: v.exactOptional(
    v.union(
      [v.literal(false), having<TaskLogger>("a logger", ["info", "warn", "error"])],
      "expected a logger or false",
    ),
  ),
});
