import type { Database, Lane } from "../database.ts";
import type { SqlContext } from "../sql-context.ts";

export interface Reaped {
  /** Jobs without attempts left, now failed with `attempts_exhausted`. */
  readonly retired: number;
  /** Jobs with attempts left, ready again since their lease's expiry, with `lease_expired`. */
  readonly requeued: number;
  /** The earliest run time among the requeued, as PostgreSQL prints it. */
  readonly earliest: string | undefined;
  /** Database time of this look, as PostgreSQL prints it: no lease that is taken later expires before it. */
  readonly lookedAt: string;
}

/** How many of each set one look takes back. */
export interface ReapLimits {
  readonly retired: number;
  readonly requeued: number;
}

export type ReapExpiredLeases = (
  db: Database,
  lane: Lane,
  queueHash: string,
  from: string,
  limits: ReapLimits,
) => Promise<Reaped>;

/**
 * Takes back the expired leases of a queue: running → failed or running → queued. The two sets have limits of their own, so
 * that neither can starve the other. Never waits, and each write repeats the predicate that its look used: a lease that was settled,
 * renewed or claimed anew in between is left alone.
 */
export function reapExpiredLeases(sql: SqlContext): ReapExpiredLeases {
  const expired = (condition: string, limit: string) => `
      delete from ${sql.table("lease")} where ctid = any (array(
        select l.ctid from ${sql.table("lease")} l
        where l.queue = $1::text::bigint and l.expires_at >= $2::text::timestamptz and l.expires_at <= (select now from t)
          and l.${condition}
        order by l.queue, l.expires_at
        limit ${limit}::text::int
        for update skip locked))
      and expires_at <= (select now from t) and ${condition}`;
  const text = `
    with t as materialized (select ${sql.clock} as now),
    dead as (${expired("attempt >= max_attempts", "$3")}
      returning id, next_run, attempt
    ), retired as (
      insert into ${sql.table("outcome")} (id, next_run, finished_at, attempt, state, operation, code)
      select id, next_run, (select now from t), attempt, 'f', 'r', 'attempts_exhausted' from dead
      returning id
    ), stale as (${expired("attempt < max_attempts", "$4")}
      returning id, queue, expires_at, generation, bytes, attempt, max_attempts
    ), requeued as (
      insert into ${sql.table("ready")} (queue, next_run, id, generation, updated_at, bytes, attempt, max_attempts, last_code)
      select queue, expires_at, id, generation, (select now from t), bytes, attempt, max_attempts, 'lease_expired' from stale
      returning next_run
    )
    select (select count(*) from retired)::int as retired, (select count(*) from requeued)::int as requeued,
      (select min(next_run) from requeued)::text as earliest, (select now from t)::text as looked_at`;
  return async (db, lane, queueHash, from, limits) => {
    const values = [queueHash, from, String(limits.retired), String(limits.requeued)];
    const [row] = await db.query(lane, text, values);
    return {
      retired: row?.retired as number,
      requeued: row?.requeued as number,
      earliest: (row?.earliest as string | null) ?? undefined,
      lookedAt: row?.looked_at as string,
    };
  };
}
