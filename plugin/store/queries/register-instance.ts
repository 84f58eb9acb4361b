import { RuntimeFailureError } from "../../../capability/index.ts";
import { numberArray, textArray } from "../array-literal.ts";
import type { Database } from "../database.ts";
import { nameHash } from "../name-hash.ts";
import type { SqlContext } from "../sql-context.ts";

/**
 * Records the Instance's key and every name of its configuration, which later statements know by hash only.
 *
 * @throws RuntimeFailureError `invalid_resolved_plan` when the schema belongs to another Instance, or a hash to another name.
 */
export type RegisterInstance = (db: Database, instanceKey: string, names: readonly string[]) => Promise<void>;

export function registerInstance(sql: SqlContext): RegisterInstance {
  const insertKey = `
    insert into ${sql.table("instance")} (instance_key, recorded_at) values ($1::text, ${sql.clock}) on conflict do nothing`;
  const readKey = `select instance_key from ${sql.table("instance")}`;
  const insertNames = `
    insert into ${sql.table("name")} (hash, name)
    select * from unnest($1::text::bigint[], $2::text::text[]) order by 1 on conflict do nothing`;
  const readNames = `
    select n.hash::text as hash, n.name from unnest($1::text::bigint[]) as c (hash) join ${sql.table("name")} n on n.hash = c.hash`;
  return async (db, instanceKey, names) => {
    await db.query("side", insertKey, [instanceKey]);
    const [recorded] = await db.query("side", readKey, []);
    checkInstanceKey(recorded?.instance_key as string | undefined, instanceKey);

    const hashes = names.map(nameHash);
    await db.query("side", insertNames, [numberArray(hashes), textArray(names)]);
    const stored = new Map(
      (await db.query("side", readNames, [numberArray(hashes)])).map((row) => [row.hash, row.name]),
    );
    for (const name of names) {
      const holder = stored.get(nameHash(name));
      if (holder === name) continue;
      const detail = `the name "${name}" has the same hash as "${String(holder)}" in this schema: choose another name`;
      throw new RuntimeFailureError("invalid_resolved_plan", detail);
    }
  };
}

/** Reads whose schema this is; undefined when no Instance has worked on it. Changes nothing. */
export function readInstanceKey(sql: SqlContext): (db: Database) => Promise<string | undefined> {
  const text = `select instance_key from ${sql.table("instance")}`;
  return async (db) => (await db.query("side", text, []))[0]?.["instance_key"] as string | undefined;
}

/** @throws RuntimeFailureError `invalid_resolved_plan` when the schema is another Instance's. */
export function checkInstanceKey(recorded: string | undefined, instanceKey: string): void {
  if (recorded === undefined || recorded === instanceKey) return;
  const detail = `schema belongs to the Instance "${recorded}", not to "${instanceKey}": two Instances never share one`;
  throw new RuntimeFailureError("invalid_resolved_plan", detail);
}
