import { bytesArray, numberArray } from "../array-literal.ts";
import type { Database } from "../database.ts";
import type { SqlContext } from "../sql-context.ts";

export interface UndeliveredClaim {
  readonly row: string;
  readonly tokenHash: string;
}

export type UndoClaims = (db: Database, claims: readonly UndeliveredClaim[]) => Promise<void>;

/**
 * running → queued for claims whose callers had left before the answer: the attempt number was never handed out, so it is given
 * back. The run time is the lease's own, the generation stays.
 */
export function undoClaims(sql: SqlContext): UndoClaims {
  const text = `
    with hit as (
      delete from ${sql.table("lease")} where ctid = any (array(
        select l.ctid from unnest($1::text::bigint[], $2::text::bytea[]) as c (id, token)
        join ${sql.table("lease")} l on l.id = c.id and l.token = c.token
        for update of l))
      returning queue, next_run, id, generation, attempt, max_attempts, last_code
    )
    insert into ${sql.table("ready")} (queue, next_run, id, generation, updated_at, attempt, max_attempts, last_code)
    select queue, next_run, id, generation, ${sql.clock}, attempt - 1, max_attempts, last_code from hit`;
  return async (db, claims) => {
    await db.query("lock", text, [
      numberArray(claims.map((claim) => claim.row)),
      bytesArray(claims.map((claim) => claim.tokenHash)),
    ]);
  };
}
