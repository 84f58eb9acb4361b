/** What the layer needs of a logger. A pino logger is one. */
export interface TaskLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child?(fields: object): TaskLogger;
}

/** A logger that never throws and always has children. Without one to write to it is silent. */
export interface QuietLogger extends TaskLogger {
  child(fields: object): QuietLogger;
}

/** Wraps a caller's logger: one that throws or rejects must not change what becomes of a job. */
export function quietLogger(logger: TaskLogger | undefined, always: object = {}): QuietLogger {
  const write =
    (level: "info" | "warn" | "error") =>
    (fields: object, message: string): void =>
      callQuietly(() => logger?.[level]({ ...always, ...fields }, message));
  return {
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child(fields) {
      let child: TaskLogger | undefined;
      callQuietly(() => {
        child = logger?.child?.({ ...always, ...fields });
      });
      return child ? quietLogger(child) : quietLogger(logger, { ...always, ...fields });
    },
  };
}

/** Calls a hook of the caller and drops what it throws, also later: there is nobody left to tell. */
export function callQuietly(hook: () => unknown): void {
  try {
    const answer = hook();
    if (answer instanceof Promise) answer.catch(() => {});
  } catch {
    // the hook's own fault
  }
}
