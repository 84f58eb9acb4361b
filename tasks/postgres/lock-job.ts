import type { Row, SqlRunner } from "./database.ts";
import type { Queue } from "./queue.ts";

export interface LockedJob {
  readonly state: string;
  readonly retryCount: number;
  /** Read after the lock was had: no request can come in between. */
  readonly flagged: boolean;
}

/**
 * Locks a job's row until the transaction ends. Undefined when there is none.
 *
 * pg-boss fails a job by deleting and inserting its row in one statement: a lock that waited for that finds the old row gone and
 * nothing in its place, so only a second look, with a new snapshot, tells whether the job is missing.
 */
export async function lockJob(
  queue: Queue,
  runner: SqlRunner,
  jobId: string,
): Promise<LockedJob | undefined> {
  const lock = `select state::text as state, retry_count as retries from ${queue.tables.job}
    where name = $1 and id = $2::uuid for update`;
  for (let look = 1; look <= 10; look++) {
    const { rows } = await runner.executeSql(lock, [queue.name, jobId]);
    if (rows[0] !== undefined) return withRequest(queue, runner, jobId, rows[0]);
    const { rows: there } = await runner.executeSql(
      `select 1 as one from ${queue.tables.job} where name = $1 and id = $2::uuid`,
      [queue.name, jobId],
    );
    if (there.length === 0) return undefined;
  }
  throw new Error("a job's row kept changing");
}

async function withRequest(queue: Queue, runner: SqlRunner, jobId: string, row: Row): Promise<LockedJob> {
  const { rows } = await runner.executeSql(
    `select 1 as one from ${queue.tables.cancel} where job_id = $1::uuid`,
    [jobId],
  );
  return { state: row["state"] as string, retryCount: Number(row["retries"]), flagged: rows.length > 0 };
}
