import type { Database } from "../database.ts";
import type { Place } from "../low-water.ts";
import { nameHash } from "../name-hash.ts";
import type { SqlContext } from "../sql-context.ts";
import { rfc3339 } from "../timestamp-text.ts";

export interface ClaimRequest {
  readonly queue: string;
  readonly owner: string;
  /** Where to start to look; a hint only. */
  readonly from: Place;
  /** SHA-256 of one token for each job wanted, concatenated. */
  readonly tokenHashes: Buffer;
  readonly leaseSeconds: number;
}

/** A leased job; `place` says which of the token hashes it took. */
export interface ClaimedRow {
  readonly place: number;
  readonly row: string;
  readonly nonce: string;
  readonly kind: string;
  readonly payload: string;
  readonly attempt: number;
  readonly maxAttempts: number;
}

export interface Claimed {
  readonly rows: readonly ClaimedRow[];
  /** Of all the leases. */
  readonly expiresAt: string;
  /** The place of the last row; undefined without rows. */
  readonly last: Place | undefined;
  /** The answer's size cut the claim short: ask again for the rest. */
  readonly more: boolean;
}

export type ClaimReadyJobs = (db: Database, request: ClaimRequest) => Promise<Claimed>;

/** Payload bytes of one answer. A lease runs while its answer is on the way, so an answer must not take long. */
const maxAnswerBytes = 8 * 1024 * 1024;

/**
 * Moves the first due jobs of a queue from ready to lease, in order of run time, then of enqueue; at most one for each token.
 * Never waits: what somebody else is claiming is skipped.
 *
 * The rows are collected by ctid in an array sub-select and deleted by it; a join of two sets costs six times as much. Only when an
 * answer would be too large are sizes added up row by row. A body is looked up by primary key, which statistics cannot change.
 */
export function claimReadyJobs(sql: SqlContext): ClaimReadyJobs {
  const text = `
    with t as materialized (select ${sql.clock} as now),
    seen as materialized (
      select r.ctid as tid, r.next_run, r.id, r.bytes from ${sql.table("ready")} r
      where r.queue = $1::text::bigint and r.next_run <= (select now from t)
        and (r.next_run, r.id) >= ($3::text::timestamptz, $7::text::bigint)
      order by r.queue, r.next_run, r.id
      limit $4::text::int
      for update skip locked
    ), picked as (
      delete from ${sql.table("ready")} where ctid = any (case
        when (select sum(bytes) from seen) <= ${maxAnswerBytes} then array(select tid from seen)
        else array(
          select tid from (
            select tid, sum(bytes) over w <= ${maxAnswerBytes} or row_number() over w = 1 as fits
            from seen window w as (order by next_run, id)) s
          where fits)
        end)
      returning id, next_run, generation, updated_at, settled_owner, bytes, attempt, max_attempts, settled_token, last_code
    ), found as materialized (
      select p.*, j.nonce, j.kind, j.payload, (row_number() over (order by p.next_run, p.id))::int as place
      from picked p, lateral (select nonce, kind, payload from ${sql.table("jobs")} where id = p.id offset 0) j
    ), leased as (
      insert into ${sql.table("lease")} (id, generation, queue, owner, expires_at, next_run, updated_at, attempt,
        max_attempts, token, nonce, last_code, bytes, settled_owner, settled_token)
      select id, generation + 1, $1::text::bigint, $2::text::bigint,
        (select now + make_interval(secs => $6::text::float8) from t), next_run, (select now from t), attempt + 1,
        max_attempts, substring((select decode($5::text, 'base64')) from 32 * place - 31 for 32), nonce, last_code,
        bytes, settled_owner, settled_token
      from found
    )
    select place, id::text as row, encode(nonce, 'hex') as nonce, kind, payload::text as payload, attempt + 1 as attempt,
      max_attempts::int as max_attempts,
      case when place = 1 then (select max(next_run) from found)::text end as last_run,
      case when place = 1 then (select now + make_interval(secs => $6::text::float8) from t)::text end as expires_at,
      case when place = 1 then (select count(*) from seen) > (select count(*) from picked) end as more
    from found order by place`;
  return async (db, request) => {
    const rows = await db.query("hot", text, [
      nameHash(request.queue),
      nameHash(request.owner),
      request.from.nextRun,
      String(request.tokenHashes.length / 32),
      request.tokenHashes.toString("base64"),
      String(request.leaseSeconds),
      request.from.row,
    ]);
    const [first] = rows;
    if (first === undefined) return { rows: [], expiresAt: "", last: undefined, more: false };
    const claimed = rows.map((row) => ({
      place: row.place as number,
      row: row.row as string,
      nonce: row.nonce as string,
      kind: row.kind as string,
      payload: row.payload as string,
      attempt: row.attempt as number,
      maxAttempts: row.max_attempts as number,
    }));
    return {
      rows: claimed,
      expiresAt: rfc3339(first.expires_at as string),
      last: { nextRun: first.last_run as string, row: (claimed.at(-1) as ClaimedRow).row },
      more: first.more === true,
    };
  };
}
