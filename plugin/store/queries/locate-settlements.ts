import type { Database } from "../database.ts";
import type { LeaseProof } from "../job-store.ts";
import type { SqlContext } from "../sql-context.ts";
import { leaseArguments, leaseProofs, provenBy } from "./lease-arguments.ts";

/** What one snapshot knows of a token: still the job's lease, already spent by a settlement, or nothing. */
export type Whereabouts =
  | { readonly kind: "held" }
  | {
      readonly kind: "settled";
      readonly operation: "c" | "f";
      readonly retryable: boolean | null;
      readonly code: string | null;
      readonly nextRun: string | null;
    }
  | { readonly kind: "unknown" };

export type LocateSettlements = (
  db: Database,
  leases: readonly LeaseProof[],
) => Promise<readonly Whereabouts[]>;

/**
 * Looks tokens up that settled nothing. A statement of its own, with a snapshot of its own, so that a duplicate that was in flight
 * is found. A token that is neither held nor spent here is void for ever: no later write brings it back.
 */
export function locateSettlements(sql: SqlContext): LocateSettlements {
  // Each look goes by id: `offset 0` keeps PostgreSQL from making one join of them, which may walk a whole index on stale statistics.
  const settledIn = (table: "outcome" | "ready", owner: string, token: string, condition: string) =>
    `lateral (select * from ${sql.table(table)} s
      where s.id = c.id and s.${token} = c.token and s.${owner} = c.owner and ${condition} offset 0)`;
  const text = `
    select c.place::int as place, l.id is not null as held, coalesce(o.operation::text, 'f') as operation,
      case when o.id is null then true else o.retryable end as retryable,
      coalesce(o.code, r.last_code) as code, r.next_run::text as next_run
    from ${leaseProofs()}
    left join lateral (select l.id from ${sql.table("lease")} l where ${provenBy} offset 0) l on true
    left join ${settledIn("outcome", "owner", "token", "true")} o on true
    left join ${settledIn("ready", "settled_owner", "settled_token", "s.generation > 0")} r on true
    where exists (select from ${sql.table("jobs")} j where j.id = c.id and j.nonce = c.nonce offset 0)
      and (l.id is not null or o.id is not null or r.id is not null)`;
  return async (db, leases) => {
    const found: Whereabouts[] = leases.map(() => ({ kind: "unknown" }));
    for (const row of await db.query("side", text, leaseArguments(leases))) {
      found[(row.place as number) - 1] = row.held
        ? { kind: "held" }
        : {
            kind: "settled",
            operation: row.operation as "c" | "f",
            retryable: row.retryable as boolean | null,
            code: row.code as string | null,
            nextRun: row.next_run as string | null,
          };
    }
    return found;
  };
}
