import type { CancelOutcome, JobStatus, TaskQueue } from "lenso-jobs-plugin/tasks";
import type { StartUpIdentity } from "./identity.ts";
import type { ReportInput } from "./report-input.ts";
import { type ReportOwnership, requestKey } from "./report-ownership.ts";
import type { Report, ReportService } from "./report-service.ts";
import type { ReportTask } from "./report-task.ts";

/** What a caller of one identity can do with reports. */
export interface ReportOperations {
  /** Has the report written. The same request again finds the same job; other rows are a new job, and overwrite the report. */
  submit(input: ReportInput): Promise<Submitted>;
  /** Null when there is no such job for this caller. */
  query(input: JobRef): Promise<JobProgress | null>;
  cancel(input: JobRef): Promise<{ readonly outcome: CancelOutcome }>;
  /** One more attempt for a job that has failed for good; false for any other. */
  retry(input: JobRef): Promise<{ readonly retried: boolean }>;
  /** The business result, as far as it has been written. Null when there is nothing for this caller. */
  report(input: ReportRef): Promise<Report | null>;
}

export interface Submitted {
  readonly reportId: string;
  readonly jobId: string;
}

export interface JobRef {
  readonly jobId: string;
}

export interface ReportRef {
  readonly reportId: string;
}

export type JobProgress = Pick<JobStatus, "state" | "attempt" | "maxAttempts" | "cancelRequested">;

export interface ReportOperationsDeps {
  readonly me: StartUpIdentity;
  readonly ownership: ReportOwnership;
  readonly queue: TaskQueue<ReportTask>;
  readonly task: ReportTask;
  readonly reports: Pick<ReportService, "read">;
}

/** The report's id belongs to somebody else. Says no more than that it cannot be had. */
export class ReportUnavailable extends Error {
  override readonly name = "ReportUnavailable";
  readonly code = "report-unavailable";

  constructor() {
    super("this report id cannot be had: choose another one");
  }
}

/**
 * The operations. Session and ownership are looked at before each step and once more after it, before anything of its answer gets out:
 * a session can be revoked while a step waits. What is somebody else's is answered as what does not exist.
 */
export function createReportOperations(deps: ReportOperationsDeps): ReportOperations {
  const { me, ownership, queue, task, reports } = deps;
  const { identity } = me;
  const whileMine = async <T>(
    owns: () => Promise<boolean>,
    step: () => Promise<T>,
    otherwise: T,
  ): Promise<T> => {
    if (!(await stillMine(me, owns))) return otherwise;
    const answer = await step();
    return (await stillMine(me, owns)) ? answer : otherwise;
  };
  const ownsJob = (jobId: string) => () => ownership.ownsJob(identity, jobId);
  const ownsReport = (reportId: string) => () => ownership.ownsReport(identity, reportId);

  return {
    async submit({ reportId, rows }) {
      const requireMine = async (): Promise<void> => {
        if (!(await stillMine(me, ownsReport(reportId)))) throw new ReportUnavailable();
      };
      await me.recheck();
      const reservation = await ownership.reserve(identity, reportId, rows);
      if (reservation === null) throw new ReportUnavailable();
      await requireMine();
      const job = { reportId, rows, revision: reservation.revision };
      const jobId = await queue.enqueue(task, job, { deduplicationKey: requestKey(identity, reservation) });
      await requireMine();
      await ownership.mapJob(identity, reservation, jobId);
      await requireMine();
      return { reportId, jobId };
    },
    query: ({ jobId }) =>
      whileMine(
        ownsJob(jobId),
        async () => {
          const status = await queue.get(jobId);
          return status === null ? null : progressOf(status);
        },
        null,
      ),
    cancel: ({ jobId }) =>
      whileMine(ownsJob(jobId), async () => ({ outcome: await queue.cancel(jobId) }), { outcome: "missing" }),
    retry: ({ jobId }) =>
      whileMine(ownsJob(jobId), async () => ({ retried: await queue.retry(jobId) }), { retried: false }),
    report: ({ reportId }) => whileMine(ownsReport(reportId), () => reports.read(reportId), null),
  };
}

async function stillMine(me: StartUpIdentity, owns: () => Promise<boolean>): Promise<boolean> {
  await me.recheck();
  return owns();
}

function progressOf({ state, attempt, maxAttempts, cancelRequested }: JobStatus): JobProgress {
  return { state, attempt, maxAttempts, cancelRequested };
}
