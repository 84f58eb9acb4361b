import { isLost } from "../../tasks/jobs/is-lost.ts";
import type { OpenRecord } from "../../tasks/jobs/records/take-open-records.ts";
import { sweepOpenRecords } from "../../tasks/jobs/sweep-open-records.ts";
import { dispatchJob, type JobDispatching } from "./dispatch-job.ts";
import { abandonCommands } from "./records/abandon-commands.ts";
import { dispatchedJobs } from "./records/dispatched-jobs.ts";
import { replaceDispatch } from "./records/replace-dispatch.ts";

/**
 * Heals what was left half done: enqueues accepted jobs that have no Jobs job yet, replaces dispatches that were lost, and gives up commands
 * whose runner died. Rejects when the records cannot be reached; trouble with the Jobs capability is told and changes nothing.
 */
export async function sweepJobs(
  host: JobDispatching,
  given: {
    /** How soon a dispatch is tried again that could not be enqueued. */ dispatchAgainSeconds: number;
  },
): Promise<void> {
  const { records, leaseSeconds } = host;
  const pace = { leaseSeconds, dispatchAgainSeconds: given.dispatchAgainSeconds };
  await sweepOpenRecords(dispatchedJobs(records), pace, (job) => healJob(host, job));
  await abandonCommands(records);
}

/** Whether something was wrong with the job, and is right now. */
async function healJob(host: JobDispatching, job: OpenRecord): Promise<boolean> {
  if (job.jobId === null) return dispatchJob(host, job);
  if (!job.overdue || !(await isLost(host, job.jobId))) return false;
  const replaced = await replaceDispatch(host.records, job, host.leaseSeconds);
  return replaced?.next === undefined ? replaced !== undefined : dispatchJob(host, replaced.next);
}
