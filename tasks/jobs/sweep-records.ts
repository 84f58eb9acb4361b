import { dispatchRecord } from "./dispatch-record.ts";
import { isLost } from "./is-lost.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import { dispatchedTasks } from "./records/dispatched-table.ts";
import { nextDispatch } from "./records/next-dispatch.ts";
import { pruneTasks } from "./records/prune-tasks.ts";
import type { OpenRecord } from "./records/take-open-records.ts";
import { sweepOpenRecords } from "./sweep-open-records.ts";

export interface SweepOptions {
  readonly retentionSeconds: number;
  /** How soon a dispatch is tried again that could not be enqueued. */
  readonly dispatchAgainSeconds: number;
}

const batch = 100;
/** A sweep prunes so many batches, so that one process does not sweep for ever. */
const maxBatches = 20;

/**
 * Heals what was left half done: enqueues records that have no Jobs job yet, replaces dispatches that were lost, and deletes what is
 * past its retention. Rejects when the records cannot be reached; trouble with the Jobs capability is told and changes nothing.
 */
export async function sweepRecords(queue: JobsQueue, options: SweepOptions): Promise<void> {
  const { records, leaseSeconds } = queue;
  const { dispatchAgainSeconds, retentionSeconds } = options;
  const pace = { leaseSeconds, dispatchAgainSeconds };
  await sweepOpenRecords(dispatchedTasks(records), pace, (task) => healRecord(queue, task));
  for (let done = 0; done < maxBatches; done += 1) {
    if ((await pruneTasks(records, { retentionSeconds, limit: batch })) < batch) break;
  }
}

/** Whether something was wrong with the record, and is right now. */
async function healRecord(queue: JobsQueue, task: OpenRecord): Promise<boolean> {
  if (task.jobId === null) return dispatchRecord(queue, task);
  if (!task.overdue || !(await isLost(queue, task.jobId))) return false;
  const next = await nextDispatch(queue.records, task, queue.leaseSeconds);
  return next?.state === "pending" ? dispatchRecord(queue, next) : next !== undefined;
}
