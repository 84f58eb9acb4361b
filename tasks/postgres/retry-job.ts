import { affected, asBossDb } from "./boss.ts";
import { lockJob } from "./lock-job.ts";
import { notifyQueue, type Queue } from "./queue.ts";
import { isUuid } from "./read-jobs.ts";

/** Puts a failed job back in line for one more attempt, due at once. False for any other state. */
export async function retryJob(queue: Queue, jobId: string): Promise<boolean> {
  if (!isUuid(jobId)) return false;
  return queue.db.transaction(async (transaction) => {
    const job = await lockJob(queue, transaction, jobId);
    // A failed job that was to be cancelled is told as cancelled, and stays so.
    if (job?.state !== "failed" || job.flagged) return false;
    const answer = await queue.boss.retry(queue.name, jobId, { db: asBossDb(transaction) });
    if (affected(answer) === 0) return false;
    // The one thing pg-boss leaves behind: the error of the attempt before.
    await transaction.executeSql(
      `update ${queue.tables.job} set output = null where name = $1 and id = $2::uuid`,
      [queue.name, jobId],
    );
    await notifyQueue(transaction, queue);
    return true;
  });
}
