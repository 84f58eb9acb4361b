import { numberArray, textArray } from "../array-literal.ts";
import type { Database } from "../database.ts";
import { nameHash } from "../name-hash.ts";
import type { SqlContext } from "../sql-context.ts";

/** Who holds each key, with the intent that it was stored with; undefined where nobody does. */
export type FindJobsByKey = (
  db: Database,
  keys: readonly { readonly producer: string; readonly key: string }[],
) => Promise<readonly (KeyHolder | undefined)[]>;

export interface KeyHolder {
  readonly row: string;
  readonly nonce: string;
  readonly intent: string;
}

/** A statement of its own, with a snapshot of its own: the insert that lost to a concurrent one cannot see the winner. */
export function findJobsByKey(sql: SqlContext): FindJobsByKey {
  const text = `
    select c.place::int as place, j.id::text as row, encode(j.nonce, 'hex') as nonce, encode(j.intent, 'hex') as intent
    from unnest($1::text::bigint[], $2::text::text[]) with ordinality as c (producer, key, place), lateral (
      select * from ${sql.table("jobs")} j where j.producer = c.producer and j.idempotency_key = c.key collate "C" offset 0) j`;
  return async (db, keys) => {
    const found: (KeyHolder | undefined)[] = keys.map(() => undefined);
    const rows = await db.query("hot", text, [
      numberArray(keys.map(({ producer }) => nameHash(producer))),
      textArray(keys.map(({ key }) => key)),
    ]);
    for (const row of rows) found[(row.place as number) - 1] = row as unknown as KeyHolder;
    return found;
  };
}
