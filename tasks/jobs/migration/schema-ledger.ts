import type { Session } from "../../../plugin/store/drivers/driver.ts";
import { quoteIdentifier, quoteLiteral } from "../../../plugin/store/schema/identifier.ts";
import type { Migration } from "../../../plugin/store/schema/migrations.ts";
import type { SchemaOwner } from "./schema-owner.ts";

/** Creates the marker, which says that a schema is its owner's, and the ledger of what was applied to it. */
export function createLedger({ prefix, mark, name, command }: SchemaOwner): string {
  return `create table ${prefix}_marker (
  only_one boolean primary key default true check (only_one),
  mark text collate "C" not null
);
comment on table ${prefix}_marker is ${quoteLiteral(`This schema belongs to ${name}. Only ${command} changes it.`)};
insert into ${prefix}_marker (mark) values (${quoteLiteral(mark)});
create table ${prefix}_ledger (
  version integer primary key check (version > 0),
  name text collate "C" not null,
  checksum text collate "C" not null check (length(checksum) = 64),
  oldest_build integer not null check (oldest_build between 1 and version),
  applied_at timestamptz not null default clock_timestamp(),
  applied_by text collate "C" not null default session_user
);`;
}

/** Records that a migration was applied. */
export function recordMigration(
  { prefix }: SchemaOwner,
  { version, name, checksum, oldestBuild }: Migration,
): string {
  return `insert into ${prefix}_ledger (version, name, checksum, oldest_build)
    values (${version}, ${quoteLiteral(name)}, ${quoteLiteral(checksum)}, ${oldestBuild});`;
}

/** What is in a schema, as far as it concerns its owner. */
export type SchemaState =
  | { readonly kind: "absent" }
  /** Exists without the owner's marker. */
  | { readonly kind: "unmanaged" }
  /** Not what the migrations made: the first version that differs. */
  | { readonly kind: "diverged"; readonly version: number }
  /** The owner's, with these migrations of this build applied; `oldestBuild` is the oldest one that may run on it. */
  | { readonly kind: "managed"; readonly version: number; readonly oldestBuild: number };

/** Looks at a schema and changes nothing. */
export async function readSchema(
  session: Pick<Session, "query">,
  { prefix, mark }: SchemaOwner,
  schema: string,
  migrations: readonly Migration[],
): Promise<SchemaState> {
  const [seen] = await session.query(
    `select exists (select from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = $2::text) as marked
     from pg_catalog.pg_namespace n where n.nspname = $1::text`,
    [schema, `${prefix}_marker`],
  );
  if (seen === undefined) return { kind: "absent" };
  if (seen["marked"] !== true) return { kind: "unmanaged" };
  const inSchema = quoteIdentifier(schema);
  const rows = await session.query(
    `select m.mark, l.version, l.checksum, l.oldest_build as oldest
     from ${inSchema}.${prefix}_marker m left join ${inSchema}.${prefix}_ledger l on true order by l.version`,
    [],
  );
  if (rows[0]?.["mark"] !== mark) return { kind: "unmanaged" };
  const applied = rows.filter((row) => row["version"] !== null);
  for (const [index, row] of applied.entries()) {
    const known = migrations[index];
    if (row["version"] !== index + 1 || (known && row["checksum"] !== known.checksum))
      return { kind: "diverged", version: index + 1 };
  }
  return {
    kind: "managed",
    version: applied.length,
    oldestBuild: Math.max(1, ...applied.map((row) => row["oldest"] as number)),
  };
}
