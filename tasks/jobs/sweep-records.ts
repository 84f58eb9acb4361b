import { dispatchRecord } from "./dispatch-record.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";
import { nextDispatch } from "./records/next-dispatch.ts";
import { pruneTasks } from "./records/prune-tasks.ts";
import { type OpenTask, takeOpenTasks } from "./records/take-open-tasks.ts";

export interface SweepOptions {
  readonly retentionSeconds: number;
  /** How soon a dispatch is tried again that could not be enqueued. */
  readonly dispatchAgainSeconds: number;
}

const batch = 100;
/** A sweep ends after so many batches, so that one process does not sweep for ever. */
const maxBatches = 20;

/**
 * Heals what was left half done: enqueues records that have no Jobs job yet, replaces dispatches that were lost, and deletes what is
 * past its retention. Rejects when the records cannot be reached; trouble with the Jobs capability is told and changes nothing.
 */
export async function sweepRecords(queue: JobsQueue, options: SweepOptions): Promise<void> {
  const { records, leaseSeconds } = queue;
  const { dispatchAgainSeconds, retentionSeconds } = options;
  for (let done = 0; done < maxBatches; done += 1) {
    const open = await takeOpenTasks(records, { limit: batch, leaseSeconds, dispatchAgainSeconds });
    const healed = await Promise.all(open.map((task) => healRecord(queue, task)));
    // A batch that only waits for its turn, or whose dispatch fails, is no reason to go on: the next sweep does.
    if (open.length < batch || !healed.includes(true)) break;
  }
  for (let done = 0; done < maxBatches; done += 1) {
    if ((await pruneTasks(records, { retentionSeconds, limit: batch })) < batch) break;
  }
}

/** Whether something was wrong with the record, and is right now. */
async function healRecord(queue: JobsQueue, task: OpenTask): Promise<boolean> {
  if (task.jobId === null) return dispatchRecord(queue, task);
  if (!task.overdue || !(await isLost(queue, task.jobId))) return false;
  const next = await nextDispatch(queue.records, task, queue.leaseSeconds);
  return next?.state === "pending" ? dispatchRecord(queue, next) : next !== undefined;
}

/** Whether a Jobs job can no longer be delivered. No answer is no evidence. */
async function isLost({ jobs, trouble }: JobsQueue, jobId: string): Promise<boolean> {
  const answer = await jobs.inspect({ job_id: jobId });
  if (answer.ok) {
    trouble.ends("inspect");
    return answer.value.status === "succeeded" || answer.value.status === "failed";
  }
  if (domainCode(answer.error) === "job_not_found") return true;
  trouble.begins("inspect", new JobsRefusal("inspect", answer.error));
  return false;
}
