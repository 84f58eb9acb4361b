import { textArray } from "../array-literal.ts";
import type { Database } from "../database.ts";
import type { Row } from "../drivers/driver.ts";
import type { Failure, LeaseProof } from "../job-store.ts";
import type { SqlContext } from "../sql-context.ts";
import { freeLease, leaseArguments, leaseProofs, lockedLease, oneLeaseArguments } from "./lease-arguments.ts";

export interface FailedAttempt {
  readonly lease: LeaseProof;
  readonly failure: Failure;
}

/** Backoff of an Instance: min(base · 2^(attempts − 1), max) seconds, exact. */
export interface Backoff {
  readonly baseSeconds: number;
  readonly maxSeconds: number;
}

/** The next run by row id, as PostgreSQL prints it; null for a job that failed for good. */
export type FailFreeLeases = (
  db: Database,
  attempts: readonly FailedAttempt[],
  backoff: Backoff,
) => Promise<ReadonlyMap<string, string | null>>;

/** running → queued or failed for every valid lease that nobody else is touching. Never waits; what it leaves out is not yet refused. */
export function failFreeLeases(sql: SqlContext): FailFreeLeases {
  const text = `
    with c as materialized (
      select f.tid, c.code, c.retryable
      from ${leaseProofs(1, { code: "text", retryable: "boolean" })}, ${freeLease(sql, `l.expires_at > ${sql.clock}`)}
    ), hit as (
      delete from ${sql.table("lease")} l using c where l.ctid = c.tid and l.expires_at > ${sql.clock}
      returning l.*, c.code, c.retryable
    )${settled(sql, 7)}`;
  return async (db, attempts, backoff) => {
    const rows = await db.query("hot", text, [
      ...leaseArguments(attempts.map(({ lease }) => lease)),
      textArray(attempts.map(({ failure }) => failure.code)),
      textArray(attempts.map(({ failure }) => String(failure.retryable))),
      ...backoffArguments(backoff),
    ]);
    return new Map(rows.map((row) => [row.row as string, nextRunOf(row)]));
  };
}

/** running → queued or failed for one lease after any wait for its row; undefined when it is not valid by then. */
export function failLockedLease(
  sql: SqlContext,
): (db: Database, attempt: FailedAttempt, backoff: Backoff) => Promise<string | null | undefined> {
  const { k, valid } = lockedLease(sql);
  const text = `
    with ${k}, hit as (
      delete from ${sql.table("lease")} l where ${valid}
      returning l.*, $5::text as code, $6::text::boolean as retryable
    )${settled(sql, 7)}`;
  return async (db, { lease, failure }, backoff) => {
    const [row] = await db.query("lock", text, [
      ...oneLeaseArguments(lease),
      failure.code,
      String(failure.retryable),
      ...backoffArguments(backoff),
    ]);
    return row && nextRunOf(row);
  };
}

/** Where the rows of `hit` go: back to ready after the backoff, keeping who settled them, or to outcome. */
function settled(sql: SqlContext, parameter: number): string {
  const delay = `make_interval(secs => least($${parameter}::text::float8 * 2::float8 ^ (attempt - 1), $${parameter + 1}::text::float8))`;
  return `, again as (
      insert into ${sql.table("ready")} (queue, next_run, id, generation, updated_at, settled_owner, bytes, attempt,
        max_attempts, settled_token, last_code)
      select queue, t.now + ${delay}, id, generation, t.now, owner, bytes, attempt, max_attempts, token, code
      from hit, lateral (select ${sql.clock} as now offset 0) t
      where retryable and attempt < max_attempts
      returning id, next_run
    ), final as (
      insert into ${sql.table("outcome")} (id, next_run, finished_at, owner, attempt, state, operation, retryable, token, code)
      select id, next_run, ${sql.clock}, owner, attempt, 'f', 'f', retryable, token, code
      from hit where not (retryable and attempt < max_attempts)
      returning id
    )
    select id::text as row, next_run::text as next_run from again
    union all
    select id::text, null from final`;
}

function backoffArguments(backoff: Backoff): string[] {
  return [String(backoff.baseSeconds), String(backoff.maxSeconds)];
}

function nextRunOf(row: Row): string | null {
  return row.next_run as string | null;
}
