import { defineTask, type Task } from "lenso-jobs-plugin/tasks";
import { type ReportJob, reportJob } from "./report-input.ts";
import type { ReportOutcome, ReportService } from "./report-service.ts";

/** The task that writes a report. */
export type ReportTask = Task<"write-report", typeof reportJob, ReportOutcome>;

/**
 * Writes one report with the service. A producer enqueues the very object that its queue was made with, so whoever only enqueues makes
 * the task too; its handler runs in workers alone.
 */
export function createReportTask(service: Pick<ReportService, "write">): ReportTask {
  return defineTask({
    name: "write-report",
    input: reportJob,
    handler: async (job: ReportJob, { signal, logger }) => {
      const outcome = await service.write(job, signal);
      if (outcome.superseded)
        logger?.info({ reportId: job.reportId }, "a newer request has taken the report over");
      return outcome;
    },
    result: (outcome) => ({ ...outcome }),
    maxAttempts: 5,
    retry: { delaySeconds: 2, backoff: true, maxDelaySeconds: 60 },
  });
}
