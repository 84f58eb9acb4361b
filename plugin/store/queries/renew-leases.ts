import type { Database } from "../database.ts";
import type { Row } from "../drivers/driver.ts";
import type { LeaseProof } from "../job-store.ts";
import type { SqlContext } from "../sql-context.ts";
import { rfc3339 } from "../timestamp-text.ts";
import { freeLease, leaseArguments, leaseProofs, lockedLease, oneLeaseArguments } from "./lease-arguments.ts";

/** New expiry by row id, of the leases that it prolonged. */
export type RenewFreeLeases = (
  db: Database,
  leases: readonly LeaseProof[],
  leaseSeconds: number,
) => Promise<ReadonlyMap<string, string>>;

/** Prolongs every valid lease that nobody else is touching. Never waits; what it leaves out is not yet refused. */
export function renewFreeLeases(sql: SqlContext): RenewFreeLeases {
  const text = `
    update ${sql.table("lease")} set ${prolonged(sql)}
    where ctid = any (array(
      select f.tid from ${leaseProofs()}, ${freeLease(sql, `l.expires_at > ${sql.clock}`)}))
    and expires_at > ${sql.clock}
    returning id::text as row, expires_at::text as expires_at`;
  return async (db, leases, leaseSeconds) => {
    const rows = await db.query("hot", text, [...leaseArguments(leases), String(leaseSeconds)]);
    return new Map(rows.map((row) => [row.row as string, expiryOf(row)]));
  };
}

/** Prolongs one lease after any wait for its row; undefined when it is not valid by then. */
export function renewLockedLease(
  sql: SqlContext,
): (db: Database, lease: LeaseProof, leaseSeconds: number) => Promise<string | undefined> {
  const { k, valid } = lockedLease(sql);
  const text = `
    with ${k}
    update ${sql.table("lease")} l set ${prolonged(sql)} where ${valid}
    returning l.expires_at::text as expires_at`;
  return async (db, lease, leaseSeconds) => {
    const [row] = await db.query("lock", text, [...oneLeaseArguments(lease), String(leaseSeconds)]);
    return row && expiryOf(row);
  };
}

function prolonged(sql: SqlContext): string {
  return `expires_at = ${sql.clock} + make_interval(secs => $5::text::float8), updated_at = ${sql.clock}`;
}

function expiryOf(row: Row): string {
  return rfc3339(row.expires_at as string);
}
