import type { Database } from "../database.ts";
import type { SqlContext } from "../sql-context.ts";

/** Hashes of the queues that have running jobs, whether configured or not. */
export type ListLeasedQueues = (db: Database) => Promise<readonly string[]>;

/** Jumps from queue to queue in both indexes of expiries, so that its cost grows with the number of queues and not of jobs. */
export function listLeasedQueues(sql: SqlContext): ListLeasedQueues {
  const next = (condition: string, after: string) =>
    `(select l.queue from ${sql.table("lease")} l where l.${condition} and l.queue > ${after} order by l.queue limit 1)`;
  const following = (after: string) => `
      (select least(${next("attempt < max_attempts", after)}, ${next("attempt >= max_attempts", after)}))`;
  const text = `
    with recursive q (queue) as (
      select ${following("-1")}
      union all
      select ${following("q.queue")} from q where q.queue is not null
    )
    select queue::text as queue from q where queue is not null`;
  return async (db) => (await db.query("side", text, [])).map((row) => row.queue as string);
}
