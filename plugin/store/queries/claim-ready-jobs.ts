import type { Database } from "../database.ts";
import { nameHash } from "../name-hash.ts";
import type { SqlContext } from "../sql-context.ts";
import { rfc3339 } from "../timestamp-text.ts";

export interface ClaimRequest {
  readonly queue: string;
  readonly owner: string;
  /** Lowest run time to look at; a hint only. */
  readonly from: string;
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
  /** As PostgreSQL prints it, for the low-water hint. */
  readonly nextRun: string;
  readonly expiresAt: string;
}

export interface Claimed {
  readonly rows: readonly ClaimedRow[];
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
 * The rows are collected by ctid in an array sub-select and deleted by it; a join of two sets costs six times as much.
 */
export function claimReadyJobs(sql: SqlContext): ClaimReadyJobs {
  const text = `
    with t as materialized (select ${sql.clock} as now),
    seen as materialized (
      select tid, sum(bytes) over w <= ${maxAnswerBytes} or row_number() over w = 1 as fits
      from (
        select r.ctid as tid, r.next_run, r.id, r.bytes from ${sql.table("ready")} r
        where r.queue = $1::text::bigint and r.next_run <= (select now from t) and r.next_run >= $3::text::timestamptz
        order by r.queue, r.next_run, r.id
        limit $4::text::int
        for update skip locked) r
      window w as (order by next_run, id)
    ), picked as (
      delete from ${sql.table("ready")} where ctid = any (array(
        select tid from seen where fits))
      returning id, next_run, generation, updated_at, settled_owner, bytes, attempt, max_attempts, settled_token, last_code
    ), found as materialized (
      select p.*, j.nonce, j.kind, j.payload, (row_number() over (order by p.next_run, p.id))::int as place
      from picked p join ${sql.table("jobs")} j on j.id = p.id
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
      max_attempts::int as max_attempts, next_run::text as next_run,
      (select now + make_interval(secs => $6::text::float8) from t)::text as expires_at,
      (select count(*) from seen) > (select count(*) from picked) as more
    from found order by place`;
  return async (db, request) => {
    const rows = await db.query("hot", text, [
      nameHash(request.queue),
      nameHash(request.owner),
      request.from,
      String(request.tokenHashes.length / 32),
      request.tokenHashes.toString("base64"),
      String(request.leaseSeconds),
    ]);
    const claimed = rows.map((row) => ({
      place: row.place as number,
      row: row.row as string,
      nonce: row.nonce as string,
      kind: row.kind as string,
      payload: row.payload as string,
      attempt: row.attempt as number,
      maxAttempts: row.max_attempts as number,
      nextRun: row.next_run as string,
      expiresAt: rfc3339(row.expires_at as string),
    }));
    return { rows: claimed, more: rows[0]?.more === true };
  };
}
