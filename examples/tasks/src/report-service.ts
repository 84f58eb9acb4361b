import { setTimeout as pause } from "node:timers/promises";
import type { SQL } from "bun";
import type { ReportJob } from "./report-input.ts";
import { type Summary, summarise } from "./summarise.ts";

export { reportInput } from "./report-input.ts";

/** A report as far as it has been written. */
export interface Report {
  readonly reportId: string;
  /** Grows by one with each request for this report that brings other rows. */
  readonly revision: number;
  readonly rowsDone: number;
  readonly rowsTotal: number;
  readonly summary: Summary;
}

/** How far a run has come. */
export interface ReportProgress {
  readonly reportId: string;
  readonly rowsDone: number;
  readonly rowsTotal: number;
}

/** How a run ended. */
export interface ReportOutcome {
  readonly revision: number;
  readonly rowsDone: number;
  /** A newer request for the same report has begun to write: this one left it alone. */
  readonly superseded: boolean;
}

/** Writes and reads reports. Knows nothing of queues, jobs or callers. */
export interface ReportService {
  /**
   * Writes the report chunk by chunk, going on from where an earlier run of the same revision stopped.
   *
   * @throws the signal's reason, or an AbortError, once it has aborted: what is written by then stays.
   */
  write(job: ReportJob, signal: AbortSignal): Promise<ReportOutcome>;
  /** Null when nothing of it has been written. */
  read(reportId: string): Promise<Report | null>;
}

export interface ReportServiceOptions {
  /** Borrowed. */
  readonly sql: SQL;
  /** Rows of one chunk. Large: a cancellation waits longer. Small: more writes. Default 10. */
  readonly chunkRows?: number;
  /** A rest before each chunk, in ms, as a slow source of data would cause it: to watch the example at work. Default 0. */
  readonly pauseMs?: number;
  /** Told after each chunk. */
  readonly onProgress?: (progress: ReportProgress) => void;
  /** Told when a run has ended, however it did. */
  readonly onEnd?: (reportId: string) => void;
}

/**
 * Reports in the table `task_example_reports`, one row each. A job runs at least once, and two runs of it may even overlap for a while;
 * so a chunk is no increment but the whole summary so far, and the statement takes it only when it leads further. Runs that come
 * twice, late or in the wrong order leave the same row behind.
 */
export function createReportService(options: ReportServiceOptions): ReportService {
  const { sql, chunkRows = 10, pauseMs = 0, onProgress, onEnd } = options;
  const writeChunks = async (
    { reportId, revision, rows }: ReportJob,
    signal: AbortSignal,
  ): Promise<ReportOutcome> => {
    let standing = await standingOf(sql, reportId);
    while (standing.revision <= revision) {
      const done = standing.revision === revision ? standing.rowsDone : 0;
      if (done >= rows.length) return { revision, rowsDone: done, superseded: false };
      const rowsDone = Math.min(done + chunkRows, rows.length);
      const chunk = { reportId, revision, rowsDone, rowsTotal: rows.length };
      await pause(pauseMs, undefined, { signal });
      signal.throwIfAborted(); // before each write: a run that lost its claim must not write on
      const leads = await writeIfFurther(sql, { ...chunk, summary: summarise(rows.slice(0, rowsDone)) });
      if (leads) onProgress?.({ reportId, rowsDone, rowsTotal: rows.length });
      standing = leads ? chunk : await standingOf(sql, reportId);
    }
    return { revision, rowsDone: 0, superseded: true };
  };
  return {
    async write(job, signal) {
      try {
        return await writeChunks(job, signal);
      } finally {
        onEnd?.(job.reportId);
      }
    },
    async read(reportId) {
      const [row] = (await sql`
        select report_id, revision, rows_done, rows_total, summary
        from task_example_reports where report_id = ${reportId}`) as ReportRecord[];
      return row === undefined ? null : reportOf(row);
    },
  };
}

interface ReportRecord {
  readonly report_id: string;
  readonly revision: number;
  readonly rows_done: number;
  readonly rows_total: number;
  readonly summary: Summary;
}

/** How far a report has come, whoever wrote it. Revisions begin with 1. */
async function standingOf(
  sql: SQL,
  reportId: string,
): Promise<{ readonly revision: number; readonly rowsDone: number }> {
  const [row] = (await sql`
    select revision, rows_done from task_example_reports
    where report_id = ${reportId}`) as Pick<ReportRecord, "revision" | "rows_done">[];
  return { revision: row?.revision ?? 0, rowsDone: row?.rows_done ?? 0 };
}

/** False when a newer revision, or more of this one, is there already. */
async function writeIfFurther(sql: SQL, report: Report): Promise<boolean> {
  const { reportId, revision, rowsDone, rowsTotal, summary } = report;
  const rows = (await sql`
    insert into task_example_reports as report (report_id, revision, rows_done, rows_total, summary)
    values (${reportId}, ${revision}, ${rowsDone}, ${rowsTotal}, ${JSON.stringify(summary)}::text::jsonb)
    on conflict (report_id) do update
      set revision = excluded.revision, rows_done = excluded.rows_done, rows_total = excluded.rows_total,
          summary = excluded.summary, written_at = now()
      where (report.revision, report.rows_done) < (excluded.revision, excluded.rows_done)
    returning report_id`) as unknown[];
  return rows.length > 0;
}

function reportOf(row: ReportRecord): Report {
  return {
    reportId: row.report_id,
    revision: row.revision,
    rowsDone: row.rows_done,
    rowsTotal: row.rows_total,
    summary: row.summary,
  };
}
