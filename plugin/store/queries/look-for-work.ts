import { numberArray, textArray } from "../array-literal.ts";
import type { Database } from "../database.ts";
import type { Place } from "../low-water.ts";
import type { SqlContext } from "../sql-context.ts";

/** What a look found in one queue. */
export interface QueueOutlook {
  readonly queueHash: string;
  /** A ready job is due, or a lease has expired. */
  readonly due: boolean;
  /** Milliseconds until the next job or expiry is due; undefined when nothing is scheduled or running. */
  readonly dueInMs: number | undefined;
}

export interface QueueToLookAt {
  readonly queueHash: string;
  /** Where to start to look; a hint only. */
  readonly from: Place;
}

export type LookForWork = (
  db: Database,
  queues: readonly QueueToLookAt[],
) => Promise<readonly QueueOutlook[]>;

/** Looks at the heads of some queues: their first ready job and their first expiry. Takes no lock. */
export function lookForWork(sql: SqlContext): LookForWork {
  // Leases of a last attempt have an index of their own.
  const firstExpiry = (condition: string) =>
    `(select e.expires_at from ${sql.table("lease")} e where e.queue = c.queue and e.${condition} order by e.queue, e.expires_at limit 1)`;
  const text = `
    with t as materialized (select ${sql.clock} as now)
    select c.queue::text as queue, least(r.next_run, l.expires_at) <= t.now as due,
      ceil(extract(epoch from least(r.next_run, l.expires_at) - t.now) * 1000)::text as due_in_ms
    from t, unnest($1::text::bigint[], $2::text::timestamptz[], $3::text::bigint[]) as c (queue, from_run, from_id)
    left join lateral (
      select next_run from ${sql.table("ready")} where queue = c.queue and (next_run, id) >= (c.from_run, c.from_id)
      order by queue, next_run, id limit 1) r on true
    left join lateral (select least(${firstExpiry("attempt < max_attempts")}, ${firstExpiry("attempt >= max_attempts")}) as expires_at) l
      on true`;
  return async (db, queues) => {
    const rows = await db.query("side", text, [
      numberArray(queues.map((queue) => queue.queueHash)),
      textArray(queues.map((queue) => queue.from.nextRun)),
      numberArray(queues.map((queue) => queue.from.row)),
    ]);
    return rows.map((row) => ({
      queueHash: row.queue as string,
      due: row.due === true,
      dueInMs: row.due_in_ms === null ? undefined : Number(row.due_in_ms),
    }));
  };
}
