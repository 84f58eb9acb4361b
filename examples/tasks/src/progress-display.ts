import type { ReportProgress } from "./report-service.ts";

/** Where progress goes: the terminal, or a file in its place. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows how far reports have come. */
export interface ProgressDisplay {
  show(progress: ReportProgress): void;
  /** The report is no longer worked on; one that was not done is said to have stopped. */
  end(reportId: string): void;
  /** Writes other text, such as a line of the log, without tearing the progress line apart. */
  interrupt(write: () => void): void;
}

/**
 * On a terminal, one line that changes in place, with the reports under way. Elsewhere a line whenever a report has passed another
 * quarter, so that a log of a long run stays short.
 */
export function createProgressDisplay(stream: ProgressStream): ProgressDisplay {
  const underWay = new Map<string, ReportProgress>();
  const print = (text: string): void => {
    stream.write(stream.isTTY ? `${clearLine}${text}\n` : `${text}\n`);
    draw();
  };
  const draw = (): void => {
    if (stream.isTTY) stream.write(clearLine + Array.from(underWay.values(), lineOf).join("  "));
  };
  return {
    show(progress) {
      const before = underWay.get(progress.reportId);
      underWay.set(progress.reportId, progress);
      if (stream.isTTY) draw();
      else if (before === undefined || quarterOf(progress) > quarterOf(before)) print(lineOf(progress));
    },
    end(reportId) {
      const last = underWay.get(reportId);
      if (last === undefined) return; // it wrote nothing
      underWay.delete(reportId);
      if (last.rowsDone < last.rowsTotal) print(`${lineOf(last)}, stopped`);
      else if (stream.isTTY) print(lineOf(last));
    },
    interrupt(write) {
      if (stream.isTTY) stream.write(clearLine);
      write();
      draw();
    },
  };
}

const clearLine = "\r\u001B[K";
const barWidth = 20;

function lineOf({ reportId, rowsDone, rowsTotal }: ReportProgress): string {
  const filled = Math.floor((barWidth * rowsDone) / rowsTotal);
  return `${reportId} [${"#".repeat(filled).padEnd(barWidth, "-")}] ${rowsDone}/${rowsTotal} rows`;
}

function quarterOf({ rowsDone, rowsTotal }: ReportProgress): number {
  return Math.floor((4 * rowsDone) / rowsTotal);
}
