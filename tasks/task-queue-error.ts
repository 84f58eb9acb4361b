const explanations = {
  "invalid-task": "the task is not valid, or not one of this queue",
  "invalid-input": "the input is not plain JSON within its limits, or the task's schema refuses it",
  "invalid-result": "the result is not plain JSON within its limits",
  "invalid-options": "an option is not valid",
  "deduplication-conflict": "the deduplication key belongs to a job with another task or input",
  "job-expired": "the deduplication key belongs to a job that has been pruned",
  "provider-unavailable": "the queue's provider could not answer",
  unsupported: "the queue's provider does not offer this",
  closed: "the queue is closed",
} as const;

/** What a caller of a task queue can act on. A code is never reused for another meaning. */
export type TaskErrorCode = keyof typeof explanations;

const phases = {
  define: "the task could not be defined",
  create: "the queue could not be created",
  migrate: "the migration failed",
  enqueue: "the job was not enqueued",
  get: "the job could not be read",
  list: "the jobs could not be listed",
  cancel: "the job could not be cancelled",
  retry: "the job could not be retried",
  identity: "the queue's identity could not be read",
  lookup: "the deduplication key could not be looked up",
  work: "the worker failed",
  close: "the queue did not close cleanly",
} as const;

/** What was being done when it failed. */
export type TaskErrorPhase = keyof typeof phases;

/**
 * Why something was refused, in words of ours: they name options, tasks, tables and commands, never a value that may be a secret. As the
 * `cause` of a {@link TaskQueueError} they are part of its message.
 */
export class SafeCause extends Error {
  override readonly name: string = "SafeCause";
}

/**
 * Any failure of a task queue. The message says what was being done, what the code means, and what we know of the reason: it is safe to
 * show and to log. What a driver, a schema or a handler said is in `cause` alone. After `provider-unavailable` from `enqueue` the job may
 * exist: look its key up before sending it again.
 */
export class TaskQueueError extends Error {
  override readonly name = "TaskQueueError";
  readonly code: TaskErrorCode;
  readonly phase: TaskErrorPhase;
  readonly #diagnostic: TaskErrorDiagnostic;

  /** `advice` is a next step, in words of ours, for a cause that is not safe to show. */
  constructor(
    code: TaskErrorCode,
    phase: TaskErrorPhase,
    { advice, ...options }: ErrorOptions & { readonly advice?: string | undefined } = {},
  ) {
    const known = options.cause instanceof SafeCause ? options.cause.message : advice;
    const message = `${phases[phase]}: ${explanations[code]}${known === undefined ? "" : `: ${known}`}`;
    super(message, options);
    this.code = code;
    this.phase = phase;
    this.#diagnostic = Object.freeze({ code, phase, message });
  }

  /** @internal Undefined for anything but a real instance. */
  static diagnosticOf(error: unknown): TaskErrorDiagnostic | undefined {
    return typeof error === "object" && error !== null && #diagnostic in error
      ? error.#diagnostic
      : undefined;
  }
}

/** The part of an error that holds nothing of a driver, a schema or an input. */
export interface TaskErrorDiagnostic {
  readonly code: TaskErrorCode;
  readonly phase: TaskErrorPhase;
  readonly message: string;
}

/** Code, phase and message of a real `TaskQueueError`, as it was made; undefined for everything else, look-alikes included. */
export function taskErrorDiagnostic(error: unknown): TaskErrorDiagnostic | undefined {
  return TaskQueueError.diagnosticOf(error);
}

/** Runs a clean-up after a failure and returns what to throw: the failure, or both when the clean-up fails as well. */
export async function afterFailure(primary: unknown, cleanup: () => Promise<void>): Promise<unknown> {
  try {
    await cleanup();
    return primary;
  } catch (error) {
    return new AggregateError([primary, error], "an operation and its clean-up both failed");
  }
}
