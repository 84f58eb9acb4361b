import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { QuietLogger, TaskLogger } from "../logger.ts";
import type { ClaimedTask, Execute } from "../provider.ts";
import { loadTelemetry } from "../telemetry.ts";
import { TimedOut } from "../worker/abort-reasons.ts";
import { type JobKind, parsePayload } from "./define-job-kind.ts";
import { JobFailure } from "./job-failure.ts";

/** What a handler gets beside its payload. */
export interface JobContext {
  readonly jobId: string;
  /** 1 for the first attempt. No business key. */
  readonly attempt: number;
  /** Aborts when this attempt should end; `reason.name` says why: `ClaimLost`, `TimedOut` or `WorkerStopping`. Look at it before every effect. */
  readonly signal: AbortSignal;
  /** The worker's logger with job, kind and attempt; absent when the worker has none. */
  readonly logger?: TaskLogger;
}

/** A kind and what is done with its jobs, made by {@link handleKind}. */
export interface JobHandler {
  readonly kind: JobKind;
  readonly handler: (payload: never, context: JobContext) => unknown;
}

/** Pairs a kind with its handler. The job is done when the handler returns; to fail it in a chosen way, throw a `JobFailure`. */
export function handleKind<Schema extends StandardSchemaV1>(
  kind: JobKind<string, Schema>,
  handler: (payload: StandardSchemaV1.InferOutput<Schema>, context: JobContext) => unknown,
): JobHandler {
  return Object.freeze({ kind, handler });
}

/** How an attempt failed, as `lenso.jobs@1` stores it. It is also the runtime's `ExecutionResult`. */
export interface JobFailed {
  readonly ok: false;
  readonly error: "handler-failed" | "invalid-input" | "aborted";
  readonly final: boolean;
  readonly code: string;
}

const failed = (error: JobFailed["error"], code: string, retryable: boolean): JobFailed => ({
  ok: false,
  error,
  code,
  final: !retryable,
});

/** The `execute` of a worker on `lenso.jobs@1`. It never rejects; what really went wrong goes to the logger. */
export function createJobExecute(
  handlers: ReadonlyMap<string, JobHandler>,
  logger: QuietLogger,
  handlersLog: boolean,
): Execute {
  return async (claimed) => {
    const telemetry = await loadTelemetry();
    const log = logger.child({ jobId: claimed.jobId, kind: claimed.task, attempt: claimed.attempt });
    return telemetry.attempt(
      claimed,
      () => executeJob(handlers.get(claimed.task), claimed, log, handlersLog),
      (result) => (result.ok ? "succeeded" : result.code),
    );
  };
}

async function executeJob(
  known: JobHandler | undefined,
  { jobId, attempt, signal, input }: ClaimedTask,
  logger: QuietLogger,
  handlersLog: boolean,
): Promise<{ readonly ok: true; readonly result: null } | JobFailed> {
  if (known === undefined) {
    logger.error({}, "this worker does not know the kind");
    return failed("invalid-input", "unknown_kind", true);
  }
  let payload: unknown;
  try {
    payload = await parsePayload(known.kind, input);
  } catch (err) {
    logger.error({ err }, "the stored payload is not valid");
    return failed("invalid-input", "invalid_payload", false);
  }
  try {
    if (!signal.aborted)
      await known.handler(payload as never, { jobId, attempt, signal, ...(handlersLog ? { logger } : {}) });
  } catch (err) {
    if (err instanceof JobFailure) {
      logger.warn({ code: err.code, retryable: err.retryable }, "the handler failed the job");
      return failed("handler-failed", err.code, err.retryable);
    }
    if (!signal.aborted) {
      logger.error({ err }, "the handler failed");
      return failed("handler-failed", "handler_failed", true);
    }
    logger.warn({ err }, "the handler failed after its attempt was aborted");
  }
  // Whatever it returned: a handler that stops early because it was asked to returns like one that is done.
  if (!signal.aborted) return { ok: true, result: null };
  return failed("aborted", signal.reason instanceof TimedOut ? "timed_out" : "worker_stopping", true);
}
