import type { Row, Session } from "../drivers/driver.ts";
import { schemaMark, selectLedger } from "./ledger.ts";
import { buildOf, type Migration, readMigrations } from "./migrations.ts";
import { grantsAsJson, selectMissingGrants } from "./runtime-grants.ts";

/** What is known of a schema with our marker, whichever state it is in. */
interface Managed {
  readonly owner: string;
  /** The role that looked. */
  readonly role: string;
  /** Whether that role acts as the owner of the schema and of everything in it, and so may change it. */
  readonly owned: boolean;
}

/** What a schema is to this build. `from` is the version found, `to` the one that this build was made for. */
export type SchemaState =
  | { readonly kind: "absent" }
  /** Exists without our marker: somebody else's, whatever it holds. */
  | { readonly kind: "unmanaged" }
  | (Managed & { readonly kind: "behind"; readonly from: number; readonly to: number })
  | (Managed & { readonly kind: "current"; readonly version: number })
  /** A newer build upgraded it. `runnable`: its ledger lets this build run on it, so that a rolling upgrade is possible. */
  | (Managed & {
      readonly kind: "ahead";
      readonly from: number;
      readonly to: number;
      readonly oldestBuild: number;
      readonly runnable: boolean;
    })
  /** Not what the migrations made: `reason` completes "version N …". */
  | (Managed & { readonly kind: "diverged"; readonly version: number; readonly reason: string })
  /** Ours, but this role lacks what the plugin needs; `missing` as "insert on jobs". */
  | (Managed & { readonly kind: "not_owned"; readonly missing: readonly string[] });

/**
 * Looks at a schema and changes nothing: it needs no privilege to run, and works in a read-only transaction.
 * `migrations` are this build's unless a test says otherwise. @throws DatabaseError
 */
export async function readSchemaState(
  db: Pick<Session, "query">,
  schema: string,
  migrations?: readonly Migration[],
): Promise<SchemaState> {
  const known = migrations ?? (await readMigrations());
  const [seen] = await db.query(selectSchema, [schema]);
  if (seen === undefined) return { kind: "absent" };
  if (seen.marked !== true) return { kind: "unmanaged" };
  const managed: Managed = { owner: String(seen.owner), role: String(seen.role), owned: seen.owned === true };
  if (seen.usable !== true) return { ...managed, kind: "not_owned", missing: ["usage on the schema"] };
  if (seen.readable !== true) {
    return {
      ...managed,
      kind: "not_owned",
      missing: ["select on lenso_jobs_marker", "select on lenso_jobs_ledger"],
    };
  }
  const rows = await db.query(selectLedger(schema), []);
  if (rows[0]?.mark !== schemaMark) return { kind: "unmanaged" };
  const state = stateOfLedger(rows.filter((row) => row.version !== null).map(entryOf), known, managed);
  if (state.kind !== "current" && !(state.kind === "ahead" && state.runnable)) return state;
  return (await withoutTables(db, schema, state)) ?? state;
}

interface Entry {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
  readonly oldestBuild: number;
}

function entryOf(row: Row): Entry {
  return {
    version: Number(row.version),
    name: String(row.name),
    checksum: String(row.checksum),
    oldestBuild: Number(row.oldest_build),
  };
}

type LedgerState = Extract<SchemaState, { kind: "behind" | "current" | "ahead" | "diverged" }>;

/** Entries come in order. Those past this build's newest can't be compared, only counted. */
function stateOfLedger(
  entries: readonly Entry[],
  known: readonly Migration[],
  managed: Managed,
): LedgerState {
  const diverged = (version: number, reason: string): LedgerState => ({
    ...managed,
    kind: "diverged",
    version,
    reason,
  });
  for (const [index, entry] of entries.entries()) {
    const version = index + 1;
    if (entry.version !== version)
      return diverged(version, "is missing from the ledger, which has later ones");
    const migration = known[index];
    if (migration === undefined) continue;
    if (entry.name !== migration.name) {
      return diverged(
        version,
        `was applied as ${JSON.stringify(entry.name)}, this build has "${migration.name}"`,
      );
    }
    if (entry.checksum !== migration.checksum) return diverged(version, "was applied with another text");
  }
  const from = entries.length;
  const to = buildOf(known);
  if (from === 0) return diverged(1, "is missing from the ledger, which is empty");
  if (from < to) return { ...managed, kind: "behind", from, to };
  if (from === to) return { ...managed, kind: "current", version: to };
  const oldestBuild = Math.max(...entries.map((entry) => entry.oldestBuild));
  return { ...managed, kind: "ahead", from, to, oldestBuild, runnable: to >= oldestBuild };
}

/**
 * What keeps the plugin from a schema whose ledger is right: a table or index that somebody dropped, or grants that nobody
 * gave. The statements rely on each index, one of them for uniqueness.
 */
async function withoutTables(
  db: Pick<Session, "query">,
  schema: string,
  state: Extract<LedgerState, { kind: "current" | "ahead" }>,
): Promise<SchemaState | undefined> {
  const { owner, role, owned } = state;
  const diverged = (missing: string): SchemaState => {
    const version = state.kind === "current" ? state.version : state.from;
    return { owner, role, owned, kind: "diverged", version, reason: `should have left ${missing}` };
  };
  const rows = await db.query(selectMissingGrants, [schema, grantsAsJson()]);
  const dropped = rows.find((row) => row.present === false);
  if (dropped !== undefined) return diverged(`a table "${String(dropped.table_name)}"`);
  const [index] = await db.query(selectMissingIndex, [schema, `{${neededIndexes.join(",")}}`]);
  if (index !== undefined) return diverged(`a valid index "${String(index.name)}"`);
  if (rows.length === 0) return undefined;
  return { owner, role, owned, kind: "not_owned", missing: rows.map(nameGrant) };
}

const neededIndexes = [
  "jobs_pkey",
  "jobs_key",
  "ready_pkey",
  "ready_returned",
  "lease_pkey",
  "lease_expiry",
  "lease_last_expiry",
  "outcome_pkey",
];

const selectMissingIndex = `select w.name from unnest($2::text::text[]) as w (name)
  where not exists (
    select from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_index i on i.indexrelid = c.oid
    where n.nspname = $1::text and c.relname = w.name and i.indisvalid)
  limit 1`;

function nameGrant(row: Row): string {
  const column = typeof row.column_name === "string" ? ` (${row.column_name})` : "";
  return `${String(row.privilege)}${column} on ${String(row.table_name)}`;
}

/** Reads the catalogue alone, which everybody may; functions are qualified, since the session's path may be anything. */
const selectSchema = `select
    pg_catalog.pg_get_userbyid(n.nspowner)::text as owner,
    current_user::text as role,
    pg_catalog.has_schema_privilege(n.oid, 'usage') as usable,
    m.oid is not null and l.oid is not null as marked,
    pg_catalog.has_table_privilege(m.oid, 'select') and pg_catalog.has_table_privilege(l.oid, 'select') as readable,
    pg_catalog.pg_has_role(n.nspowner, 'usage') and not exists (
      select from pg_catalog.pg_class c where c.relnamespace = n.oid and not pg_catalog.pg_has_role(c.relowner, 'usage')
    ) as owned
  from pg_catalog.pg_namespace n
  left join pg_catalog.pg_class m on m.relnamespace = n.oid and m.relname = 'lenso_jobs_marker' and m.relkind = 'r'
    and exists (select from pg_catalog.pg_attribute a where a.attrelid = m.oid and a.attname = 'mark' and a.attnum > 0)
  left join pg_catalog.pg_class l on l.relnamespace = n.oid and l.relname = 'lenso_jobs_ledger' and l.relkind = 'r'
    and 4 = (select count(*) from pg_catalog.pg_attribute a where a.attrelid = l.oid and not a.attisdropped
      and a.attname in ('version', 'name', 'checksum', 'oldest_build'))
  where n.nspname = $1::text`;
