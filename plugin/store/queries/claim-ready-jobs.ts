import { jobsThatFit, maxAnswerBytes } from "../answer-size.ts";
import { claimLaneOf, type Database } from "../database.ts";
import type { Row } from "../drivers/driver.ts";
import type { LeaseProof } from "../job-store.ts";
import type { Place } from "../low-water.ts";
import { nameHash } from "../name-hash.ts";
import type { SqlContext } from "../sql-context.ts";
import { rfc3339 } from "../timestamp-text.ts";
import { completedRows, freeCompletions } from "./complete-leases.ts";
import { leaseArguments } from "./lease-arguments.ts";

export interface ClaimRequest {
  readonly queue: string;
  readonly owner: string;
  /** Where to start to look; a hint only. */
  readonly from: Place;
  /** SHA-256 of one token for each job wanted, as 64 hex digits. */
  readonly tokenHashes: readonly string[];
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
  readonly max_attempts: number;
}

export interface Claimed {
  readonly rows: readonly ClaimedRow[];
  /** Of all the leases. */
  readonly expiresAt: string;
  /** The place of the last row; undefined without rows. */
  readonly last: Place | undefined;
  /** The answer's size cut the claim short: there is more. */
  readonly cut: boolean;
  /** Of the leases to complete, those that it settled. */
  readonly completed: ReadonlyMap<string, true>;
}

/** `completing`: leases whose completion shares the statement. */
export type ClaimReadyJobs = (
  db: Database,
  request: ClaimRequest,
  completing?: readonly LeaseProof[],
) => Promise<Claimed>;

/**
 * Moves the first due jobs of a queue from ready to lease, in order of run time, then of enqueue; at most one for each token.
 * Never waits: what somebody else is claiming is skipped.
 *
 * The rows are collected by ctid in an array sub-select and deleted by it; a join of two sets costs six times as much. When they would
 * make too large an answer, only as many of them are taken as fit in any case. A body is looked up by primary key, which statistics
 * cannot change. Each node and expression of the plan costs every claim, of one job too, so there are few.
 */
export function claimReadyJobs(sql: SqlContext): ClaimReadyJobs {
  const alone = `with ${claimSteps(sql)} select ${columns} from found`;
  const { steps, rows } = freeCompletions(sql, 8);
  const completing = `with ${steps}, ${claimSteps(sql)}
    select ${columns}, case when place = 1 or place is null then ${rows} end as completed
    from (select) one left join found on true`;
  return async (db, request, leases = []) => {
    const queueHash = nameHash(request.queue);
    const lane = claimLaneOf(queueHash);
    const values = [
      queueHash,
      nameHash(request.owner),
      request.from.nextRun,
      String(request.tokenHashes.length),
      request.tokenHashes.join(""),
      String(request.leaseSeconds),
      request.from.row,
    ];
    const rows =
      leases.length === 0
        ? await db.query(lane, alone, values)
        : await db.query(lane, completing, [...values, ...leaseArguments(leases)]);
    return readClaim(rows);
  };
}

function readClaim(rows: readonly Row[]): Claimed {
  const claimed: ClaimedRow[] = [];
  let head = "";
  let completed: unknown = null;
  for (const row of rows) {
    const place = row["place"] as number | null;
    if (place === null || place === 1) completed = row["completed"] ?? null;
    if (place === null) continue;
    if (place === 1) head = row["head"] as string;
    claimed[place - 1] = row as unknown as ClaimedRow;
  }
  const settled = { completed: completedRows(completed) };
  const last = claimed.at(-1);
  if (last === undefined) return { rows: [], expiresAt: "", last: undefined, cut: false, ...settled };
  const [expiresAt, nextRun, seen] = head.split("|") as [string, string, string];
  return {
    rows: claimed,
    expiresAt: rfc3339(expiresAt),
    last: { nextRun, row: last.row },
    cut: Number(seen) > claimed.length,
    ...settled,
  };
}

function claimSteps(sql: SqlContext): string {
  return `t as materialized (select ${sql.clock} as now),
    seen as materialized (
      select r.ctid as tid, r.bytes from ${sql.table("ready")} r
      where r.queue = $1::text::bigint and r.next_run <= (select now from t)
        and (r.next_run, r.id) >= ($3::text::timestamptz, $7::text::bigint)
      order by r.queue, r.next_run, r.id
      limit $4::text::int
      for update skip locked
    ), picked as (
      delete from ${sql.table("ready")} where ctid = any (array(
        select tid from seen limit (select case when sum(bytes) > ${maxAnswerBytes} then ${jobsThatFit} end from seen)))
      returning id, next_run, generation, settled_owner, bytes, attempt, max_attempts, settled_token, last_code
    ), found as materialized (
      select p.*, j.nonce, j.kind, j.payload, t.now, t.now + make_interval(secs => $6::text::float8) as until,
        row_number() over (order by p.next_run, p.id) as place
      from t, picked p, lateral (select nonce, kind, payload from ${sql.table("jobs")} where id = p.id offset 0) j
    ), leased as (
      insert into ${sql.table("lease")} (id, generation, queue, owner, expires_at, next_run, updated_at, attempt,
        max_attempts, token, nonce, last_code, bytes, settled_owner, settled_token)
      select id, generation + 1, $1::text::bigint, $2::text::bigint, until, next_run, now, attempt + 1, max_attempts,
        substring((select decode($5::text, 'hex')) from (32 * place - 31)::int for 32), nonce, last_code, bytes,
        settled_owner, settled_token
      from found
    )`;
}

const columns = `id::text as row, encode(nonce, 'hex') as nonce, kind, payload::text as payload, attempt + 1 as attempt,
      max_attempts::int as max_attempts, place::int as place,
      case when place = 1 then until::text || '|' || (select max(next_run) from picked) || '|' || (select count(*) from seen) end as head`;
