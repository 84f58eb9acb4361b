import { randomBytes } from "node:crypto";
import { bytesArray, numberArray, textArray } from "../array-literal.ts";
import type { Database, Lane } from "../database.ts";
import type { NewJob } from "../job-store.ts";
import { nameHash } from "../name-hash.ts";
import type { SqlContext } from "../sql-context.ts";

/** The id of each job that was inserted; undefined where the key is taken, by a job or by an insert that has just committed. */
export type InsertJobs = (
  db: Database,
  lane: Lane,
  jobs: readonly NewJob[],
) => Promise<readonly (InsertedJob | undefined)[]>;

export interface InsertedJob {
  readonly row: string;
  readonly nonce: string;
  /** Whether it may be claimed at once. */
  readonly due: boolean;
}

/**
 * Inserts many jobs and makes them claimable, in one statement. No two of them share a key, and they must come sorted by
 * (producer, key): overlapping batches in different orders would deadlock.
 *
 * Other processes are notified only for due jobs of queues that they registered for: commits that notify queue behind one lock of the
 * whole server. The process itself, `listener`, wakes its own workers without.
 */
export function insertJobs(sql: SqlContext, channel: string, listener: string): InsertJobs {
  const text = `
    with t as materialized (select ${sql.clock} as now),
    fresh as (
      insert into ${sql.table("jobs")}
        (producer, queue, requested_at, created_at, max_attempts, nonce, intent, kind, idempotency_key, payload)
      select c.producer, c.queue, c.requested_at, (select now from t), c.max_attempts, c.nonce, c.intent, c.kind, c.key,
        c.payload::json
      from unnest($1::text::bigint[], $2::text::bigint[], $3::text::timestamptz[], $4::text::smallint[], $5::text::bytea[],
        $6::text::bytea[], $7::text::text[], $8::text::text[], $9::text::text[])
        as c (producer, queue, requested_at, max_attempts, nonce, intent, kind, key, payload)
      on conflict (producer, idempotency_key) do nothing
      returning id, queue, requested_at, created_at, max_attempts, nonce, octet_length(payload::text) as bytes
    ), put as (
      insert into ${sql.table("ready")} (queue, next_run, id, updated_at, bytes, max_attempts)
      select queue, greatest(requested_at, created_at), id, created_at, bytes, max_attempts from fresh
    ), told as materialized (
      select pg_notify('${channel}', w.queue::text)::text as sent
      from (select distinct queue from ${sql.table("waiter")}
        where queue = any (array(select queue from fresh where requested_at <= created_at))
          and until > (select now from t) and listener <> $10::text::uuid) w
    )
    select id::text as row, encode(nonce, 'hex') as nonce, requested_at <= created_at as due,
      (select count(sent) from told) as told
    from fresh`;
  return async (db, lane, jobs) => {
    const random = randomBytes(10 * jobs.length).toString("hex");
    const nonces = jobs.map((_, index) => random.slice(20 * index, 20 * index + 20));
    const rows = await db.query(lane, text, [
      numberArray(jobs.map((job) => nameHash(job.producer))),
      numberArray(jobs.map((job) => nameHash(job.queue))),
      textArray(jobs.map((job) => job.requestedAt)),
      numberArray(jobs.map((job) => job.maxAttempts)),
      bytesArray(nonces),
      bytesArray(jobs.map((job) => job.intent)),
      textArray(jobs.map((job) => job.kind)),
      textArray(jobs.map((job) => job.key)),
      textArray(jobs.map((job) => job.payload)),
      listener,
    ]);
    const inserted = new Map(rows.map((row) => [row.nonce, row as unknown as InsertedJob]));
    return nonces.map((nonce) => inserted.get(nonce));
  };
}
