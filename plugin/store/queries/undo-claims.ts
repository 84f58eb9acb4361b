import { bytesArray, numberArray } from "../array-literal.ts";
import type { Database } from "../database.ts";
import type { SqlContext } from "../sql-context.ts";

export interface UndeliveredClaim {
  readonly row: string;
  readonly tokenHash: string;
}

/** Run time by row id of the claims that it took back. What somebody holds locked at the moment is left out. */
export type UndoClaims = (
  db: Database,
  claims: readonly UndeliveredClaim[],
) => Promise<ReadonlyMap<string, string>>;

/**
 * running → queued for claims whose callers had left before the answer: the attempt number was never handed out, so it is given
 * back. The run time is the lease's own, the generation stays, and so does who settled the attempt before: nobody saw this claim.
 */
export function undoClaims(sql: SqlContext): UndoClaims {
  const text = `
    with hit as (
      delete from ${sql.table("lease")} where ctid = any (array(
        select f.tid from unnest($1::text::bigint[], $2::text::bytea[]) as c (id, token), lateral (
          select l.ctid as tid from ${sql.table("lease")} l where l.id = c.id and l.token = c.token
          for update skip locked) f))
      returning queue, next_run, id, generation, settled_owner, bytes, attempt, max_attempts, settled_token, last_code
    )
    insert into ${sql.table("ready")} (queue, next_run, id, generation, updated_at, settled_owner, bytes, attempt,
      max_attempts, settled_token, last_code)
    select queue, next_run, id, generation, ${sql.clock}, settled_owner, bytes, attempt - 1, max_attempts, settled_token,
      last_code
    from hit
    returning id::text as row, next_run::text as next_run`;
  return async (db, claims) => {
    const rows = await db.query("hot", text, [
      numberArray(claims.map((claim) => claim.row)),
      bytesArray(claims.map((claim) => claim.tokenHash)),
    ]);
    return new Map(rows.map((row) => [row.row as string, row.next_run as string]));
  };
}
