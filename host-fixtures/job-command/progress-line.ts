import type { JobProgressUpdate } from "../../job-provider/index.ts";
import { printable } from "./printable.ts";

/** Where progress goes: a terminal, or a file in its place. */
export interface ProgressTarget {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** Shows how far a job is. */
export interface ProgressLine {
  show(update: JobProgressUpdate): void;
  /** Writes something else without tearing the line apart. */
  interrupt(write: () => void): void;
  /** Takes the line away. */
  end(): void;
}

/**
 * On a terminal, one line that changes in place. Elsewhere a line whenever a phase begins or has passed another quarter, so that the log of
 * a long job stays short.
 */
export function createProgressLine({ isTerminal, write }: ProgressTarget): ProgressLine {
  let last: JobProgressUpdate | undefined;
  const clear = (): void => void (isTerminal && last !== undefined && write(clearLine));
  const draw = (): void => void (isTerminal && last !== undefined && write(clearLine + lineOf(last)));
  return {
    show(update) {
      const isNews = last?.phase !== update.phase || quarterOf(update) > quarterOf(last);
      last = update;
      if (isTerminal) draw();
      else if (isNews) write(`${lineOf(update)}\n`);
    },
    interrupt(writeOther) {
      clear();
      writeOther();
      draw();
    },
    end() {
      clear();
      last = undefined;
    },
  };
}

const clearLine = "\r\u001B[K";
const barWidth = 24;
/** A longer line would wrap, and could then not be taken away. */
const lineWidth = 78;

function lineOf({ phase, completed, total, message }: JobProgressUpdate): string {
  const share = shareOf(completed, total);
  const bar =
    share === undefined ? "" : `[${"#".repeat(Math.floor(barWidth * share)).padEnd(barWidth, "-")}] `;
  const count = completed === undefined ? "" : ` ${completed}${total === undefined ? "" : `/${total}`}`;
  const line = `${bar}${printable(phase)}${count}${message === undefined ? "" : ` ${printable(message)}`}`;
  return line.length > lineWidth ? `${line.slice(0, lineWidth - 1).toWellFormed()}…` : line;
}

function quarterOf({ completed, total }: JobProgressUpdate): number {
  return Math.floor(4 * (shareOf(completed, total) ?? 0));
}

function shareOf(completed: number | undefined, total: number | undefined): number | undefined {
  if (completed === undefined || total === undefined || total === 0) return undefined;
  return Math.min(1, completed / total);
}
