import type { CancelOutcome } from "../provider.ts";
import { asBossDb } from "./boss.ts";
import { lockJob } from "./lock-job.ts";
import { cancelNotice, type Queue } from "./queue.ts";
import { isUuid } from "./read-jobs.ts";

/** Cancels a job that no worker holds; leaves a request for the worker that holds it. Both under the row's lock, so no claim comes between. */
export async function cancelJob(queue: Queue, jobId: string): Promise<CancelOutcome> {
  if (!isUuid(jobId)) return "missing";
  return queue.db.transaction(async (transaction) => {
    const job = await lockJob(queue, transaction, jobId);
    if (job === undefined) return "missing";
    if (job.state === "created" || job.state === "retry") {
      await queue.boss.cancel(queue.name, jobId, { db: asBossDb(transaction) });
      return "cancelled";
    }
    if (job.state !== "active") return "terminal";
    // The first request is told to whoever listens; a worker that does not hear it sees it at its next pulse.
    await transaction.executeSql(
      `with requested as (
         insert into ${queue.tables.cancel} (job_id, queue) values ($1::uuid, $2) on conflict (job_id) do nothing returning job_id
       ) select pg_notify($3, $4) from requested`,
      [jobId, queue.name, queue.channel, `${cancelNotice(queue.name)}${jobId}`],
    );
    return "requested";
  });
}

/**
 * Ends what was to be cancelled and lost its worker: pg-boss has put it back in line. Whoever claims it first meets the request at
 * the first pulse and does not run it, so it does not matter when this comes.
 */
export async function cancelRecovered({ db, boss, name, tables }: Queue): Promise<void> {
  const { rows } = await db.executeSql(
    `select j.id::text as id from ${tables.cancel} c join ${tables.job} j on j.name = c.queue and j.id = c.job_id
     where c.queue = $1 and j.state in ('created', 'retry') order by j.id`,
    [name],
  );
  const ids = rows.map((row) => row["id"] as string);
  if (ids.length > 0) await boss.cancel(name, ids);
}

/** Forgets requests whose job has been pruned. */
export async function forgetRequests({ db, name, tables }: Queue): Promise<void> {
  await db.executeSql(
    `delete from ${tables.cancel} c where c.queue = $1
       and not exists (select from ${tables.job} j where j.name = c.queue and j.id = c.job_id)`,
    [name],
  );
}
