import type { Database } from "../database.ts";
import type { LeaseProof } from "../job-store.ts";
import type { SqlContext } from "../sql-context.ts";
import { freeLease, leaseArguments, leaseProofs, lockedLease, oneLeaseArguments } from "./lease-arguments.ts";

/** True by row id of the jobs that it settled. */
export type CompleteLeases = (
  db: Database,
  leases: readonly LeaseProof[],
) => Promise<ReadonlyMap<string, true>>;

/**
 * running → succeeded for every valid lease that nobody else is touching. Never waits; what it leaves out is not yet refused. The ids come
 * back as one text: a row of an answer costs client and server more than the look-up of its job.
 */
export function completeFreeLeases(sql: SqlContext): CompleteLeases {
  const { steps, rows } = freeCompletions(sql, 1);
  const text = `with ${steps} select ${rows} as rows`;
  return async (db, leases) => {
    const [answer] = await db.query("hot", text, leaseArguments(leases));
    return completedRows(answer?.rows);
  };
}

/** The same as `steps` of a larger statement, with the proofs from parameter `first` on, and the expression of its answer. */
export function freeCompletions(
  sql: SqlContext,
  first: number,
): { readonly steps: string; readonly rows: string } {
  return {
    steps: `hit as (
      delete from ${sql.table("lease")} where ctid = any (array(
        select f.tid from ${leaseProofs(first)}, ${freeLease(sql, `l.expires_at > ${sql.clock}`)}))
      and expires_at > ${sql.clock}
      returning id, next_run, owner, attempt, token, last_code
    ), done as (${outcome(sql)})`,
    rows: "(select string_agg(id::text, ' ') from done)",
  };
}

/** Reads the answer of {@link freeCompletions}. */
export function completedRows(answer: unknown): ReadonlyMap<string, true> {
  const settled = new Map<string, true>();
  for (const row of (answer as string | null)?.split(" ") ?? []) settled.set(row, true);
  return settled;
}

/** running → succeeded for one lease, after any wait for its row. Alone in its statement, so that the wait stalls nobody else. */
export function completeLockedLease(sql: SqlContext): (db: Database, lease: LeaseProof) => Promise<boolean> {
  const { k, valid } = lockedLease(sql);
  const text = `
    with ${k}, hit as (
      delete from ${sql.table("lease")} l where ${valid}
      returning l.id, l.next_run, l.owner, l.attempt, l.token, l.last_code
    )${outcome(sql)}`;
  return async (db, lease) => (await db.query("lock", text, oneLeaseArguments(lease))).length === 1;
}

function outcome(sql: SqlContext): string {
  return `
      insert into ${sql.table("outcome")} (id, next_run, finished_at, owner, attempt, state, operation, token, code)
      select id, next_run, ${sql.clock}, owner, attempt, 's', 'c', token, last_code from hit
      returning id`;
}
