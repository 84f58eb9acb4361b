import type { JobHost, JobLogLine } from "../../job-provider/host/index.ts";
import { isTerminalJobState, type JobProjectionEvent, type JobReference } from "../../job-provider/index.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import type { JobCommandContext } from "./job-command.ts";
import { answerOf } from "./job-command-io.ts";
import { printable } from "./printable.ts";
import { createProgressLine } from "./progress-line.ts";
import { watchToEnd } from "./watch-to-end.ts";

/** Which job is followed, from where, and for whom. */
export interface FollowOptions {
  readonly reference: JobReference;
  readonly after: number;
  readonly logsAfter: number;
  readonly context: JobCommandContext;
}

/**
 * Prints a job's events, log and progress until it has ended. For a program everything is an answer, and nothing is drawn.
 *
 * @throws CommandFailure `job-failed` or `job-cancelled` when it ended so, `cancelled` when the person gave up: the job goes on then
 */
export async function followJob(host: JobHost, options: FollowOptions): Promise<void> {
  const { reference, logsAfter, context } = options;
  const { io, isJson, answer } = context;
  const line = createProgressLine({ isTerminal: io.isTerminal && !isJson, write: io.err });
  let seen = options.after;
  try {
    const result = await watchToEnd(host, {
      reference,
      after: seen,
      logsAfter,
      signal: io.signal,
      async event(event) {
        seen = event.revision;
        const hint = isJson ? "" : await hintOf(host, event);
        line.interrupt(() => answer(answerOf({ type: "event", event }, textOf(event) + hint)));
        if (event.type !== "job-accepted" && isTerminalJobState(event.state)) line.end();
      },
      log: (entry) =>
        line.interrupt(() => {
          if (isJson) answer(answerOf({ type: "log", line: entry }, ""));
          else io.err(`${logText(entry)}\n`);
        }),
      progress: (update) => {
        if (isJson) answer(answerOf({ type: "progress", update }, ""));
        else line.show(update);
      },
    });
    if (result.state === "failed")
      throw new CommandFailure(1, "job-failed", `the job has failed: ${result.code}`);
    if (result.state === "cancelled") throw new CommandFailure(1, "job-cancelled", "the job was cancelled");
  } catch (error) {
    if (error instanceof CommandFailure || !io.signal.aborted) throw error;
    throw new CommandFailure(
      1,
      "cancelled",
      `no longer watching; the job goes on: watch it again with --after ${seen}`,
    );
  } finally {
    line.end();
  }
}

function textOf(event: JobProjectionEvent): string {
  return `${event.revision} ${event.type === "job-accepted" ? "queued" : event.state}`;
}

/** What to do about a job that waits for a person. */
async function hintOf(host: JobHost, event: JobProjectionEvent): Promise<string> {
  if (event.type === "job-accepted" || event.state !== "attention_required") return "";
  const result = await host.result(event.reference);
  if (result?.state !== "attention_required") return ""; // somebody has decided
  return ` ${result.code}: look what became of it, then resolve ${event.reference.jobId} ACTION --revision ${event.revision}`;
}

function logText({ at, level, message }: JobLogLine): string {
  return printable(`${at} ${level} ${message}`);
}
