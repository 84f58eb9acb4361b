import { affected, asBossDb } from "./boss.ts";
import { lockJob } from "./lock-job.ts";
import { notifyQueue, type Queue } from "./queue.ts";
import { isUuid } from "./read-jobs.ts";

/** Puts a failed job back in line for exactly one more attempt, due at once. False for any other state. */
export async function retryJob(queue: Queue, jobId: string): Promise<boolean> {
  if (!isUuid(jobId)) return false;
  return queue.db.transaction(async (transaction) => {
    const job = await lockJob(queue, transaction, jobId);
    // A failed job that was to be cancelled is told as cancelled, and stays so.
    if (job?.state !== "failed" || job.flagged) return false;
    const answer = await queue.boss.retry(queue.name, jobId, { db: asBossDb(transaction) });
    if (affected(answer) === 0) return false;
    // What pg-boss leaves behind: the error of the attempt before, and the limit that an early end did not reach.
    await transaction.executeSql(
      `update ${queue.tables.job} set output = null, data = jsonb_set(data, '{maxAttempts}',
         to_jsonb(retry_count + 2 - coalesce((data->>'returned')::int, 0)))
       where name = $1 and id = $2::uuid`,
      [queue.name, jobId],
    );
    await notifyQueue(transaction, queue);
    return true;
  });
}
