import type { TaskLogger } from "./logger.ts";
import { SafeCause, TaskQueueError } from "./task-queue-error.ts";
import { AbortReason } from "./worker/abort-reasons.ts";

/**
 * Where warnings and errors go when a caller has given no logger: one line each on `console.error`, with task, job and attempt. Of an error
 * it shows the class and a short code; the message only of errors of ours, since a handler's or a driver's may hold anything.
 */
export const consoleLogger: TaskLogger = {
  info: () => {},
  warn: (fields, message) => print("warning", fields, message),
  error: (fields, message) => print("error", fields, message),
};

/** What a provider without an `onError` does with trouble in the background. */
export function consoleTrouble(queue: string): (error: unknown) => void {
  return (err) => consoleLogger.warn({ err, queue }, "trouble in the background, which the queue outlives");
}

/** What is known of an error and safe to show, in one line. */
export function describeError(error: unknown): string {
  if (isOurs(error)) return oneLine(error.message);
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const { code } = error as { readonly code?: unknown };
  const name = /^[A-Za-z_$][\w$]{0,63}$/.test(error.name) ? error.name : "Error";
  return typeof code === "string" && /^[A-Za-z0-9_]{3,40}$/.test(code) ? `${name} ${code}` : name;
}

function isOurs(error: unknown): error is Error {
  return [TaskQueueError, SafeCause, AbortReason].some((known) => error instanceof known);
}

function print(level: string, fields: object, message: string): void {
  const { err, ...rest } = fields as Readonly<Record<string, unknown>>;
  const known = ["queue", "task", "jobId", "attempt"].flatMap((key) =>
    typeof rest[key] === "string" || typeof rest[key] === "number"
      ? [`${key} ${oneLine(`${rest[key]}`)}`]
      : [],
  );
  const where = known.length === 0 ? "" : ` (${known.join(", ")})`;
  console.error(
    `lenso tasks: ${level}: ${message}${where}${err === undefined ? "" : `: ${describeError(err)}`}`,
  );
}

/** A stored task's name may be anybody's: nothing of it may look like a second line. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 1000);
}
