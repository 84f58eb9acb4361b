import type { Task, TaskContext } from "./define-task.ts";
import { copyPlainJson, inputLimits, resultLimits } from "./json-value.ts";
import type { QuietLogger } from "./logger.ts";
import type { ClaimedTask, ErrorCode, Execute, ExecutionResult } from "./provider.ts";
import { loadTelemetry } from "./telemetry.ts";
import { validateInput } from "./validate-input.ts";

export interface ExecuteDeps {
  readonly tasks: ReadonlyMap<string, Task>;
  readonly logger: QuietLogger;
  /** Whether handlers get a logger: only when the queue was given one. */
  readonly handlersLog: boolean;
}

/**
 * The `execute` of a queue: finds the task, validates the stored input again, runs the handler and projects its result. It never
 * rejects; what really went wrong goes to the logger and nowhere else.
 */
export function createExecute(deps: ExecuteDeps): Execute {
  return async (claimed) => {
    const telemetry = await loadTelemetry();
    return telemetry.attempt(
      claimed,
      () => executeTask(deps, claimed),
      (result) => (result.ok ? "succeeded" : result.error),
    );
  };
}

async function executeTask(deps: ExecuteDeps, claimed: ClaimedTask): Promise<ExecutionResult> {
  const { jobId, attempt, signal } = claimed;
  const logger = deps.logger.child({ jobId, task: claimed.task, attempt });
  const fail = (error: ErrorCode, final: boolean, message: string, err?: unknown) => {
    logger.error(err === undefined ? {} : { err }, message);
    return { ok: false, error, final } satisfies ExecutionResult;
  };

  const task = deps.tasks.get(claimed.task);
  // Not final: during a deploy an older worker may meet the job of a newer producer. It must not use up the attempts within a moment.
  if (task === undefined)
    return {
      ...fail("invalid-input", false, "this worker does not know the task"),
      afterSeconds: unknownTaskDelay(attempt),
    };

  let input: unknown;
  try {
    input = await validateInput(task.input, copyPlainJson(claimed.input, inputLimits), inputLimits);
  } catch (error) {
    return fail("invalid-input", true, "the stored input is not valid", error);
  }
  if (signal.aborted) return aborted;

  let value: unknown;
  const context: TaskContext = { jobId, attempt, signal, ...(deps.handlersLog ? { logger } : {}) };
  try {
    value = await task.handler(input, context);
  } catch (error) {
    if (!signal.aborted) return fail("handler-failed", false, "the handler failed", error);
    logger.warn({ err: error }, "the handler failed after its attempt was aborted");
    return aborted;
  }
  // Whatever it returned: a handler that stops early because it was asked to returns like one that is done.
  if (signal.aborted) return aborted;
  if (task.result === undefined) return { ok: true, result: null };
  try {
    return { ok: true, result: copyPlainJson(task.result(value), resultLimits) };
  } catch (error) {
    return fail("invalid-result", true, "the result is not valid", error);
  }
}

/** 5 s after the first attempt, twice as long after each, 5 min at most: three attempts span a deploy of a quarter of a minute. */
function unknownTaskDelay(attempt: number): number {
  return Math.min(5 * 2 ** Math.min(attempt - 1, 10), 300);
}

const aborted: ExecutionResult = { ok: false, error: "aborted", final: false };
