import { quoteIdentifier } from "./identifier.ts";

type Privilege = "select" | "insert" | "update" | "delete";

export interface TableGrant {
  readonly table: string;
  readonly privileges: readonly Privilege[];
  /** Columns that may be updated where the whole row may not. */
  readonly updatable?: readonly string[];
}

/**
 * What the plugin does at run time, table by table, and so what a runtime role may do. No sequence is among them: an
 * identity column draws its value without asking. Whoever adds a statement to the store keeps this list in step.
 */
export const runtimeGrants: readonly TableGrant[] = [
  { table: "lenso_jobs_marker", privileges: ["select"] },
  { table: "lenso_jobs_ledger", privileges: ["select"] },
  { table: "name", privileges: ["select", "insert"] },
  { table: "instance", privileges: ["select", "insert"] },
  { table: "jobs", privileges: ["select", "insert"] },
  // FOR UPDATE asks for UPDATE of at least one column, though no statement updates a ready row.
  { table: "ready", privileges: ["select", "insert", "delete"], updatable: ["updated_at"] },
  { table: "lease", privileges: ["select", "insert", "update", "delete"] },
  { table: "outcome", privileges: ["select", "insert"] },
  { table: "waiter", privileges: ["select", "insert", "update", "delete"] },
];

/** Gives a role the runtime grants. Adds only, so that a build that still runs keeps what it needs. */
export function grantRuntime(schema: string, role: string): string {
  const inSchema = quoteIdentifier(schema);
  const to = quoteIdentifier(role);
  return [
    `grant usage on schema ${inSchema} to ${to};`,
    ...runtimeGrants.map(({ table, privileges, updatable }) => {
      const columns = updatable?.map(quoteIdentifier).join(", ");
      const granted = [...privileges, ...(columns === undefined ? [] : [`update (${columns})`])];
      return `grant ${granted.join(", ")} on ${inSchema}.${quoteIdentifier(table)} to ${to};`;
    }),
  ].join("\n");
}

/** Takes from a role everything that it was given in the schema, columns included. */
export function revokeEverything(schema: string, role: string): string {
  const inSchema = quoteIdentifier(schema);
  const from = quoteIdentifier(role);
  return `revoke all on schema ${inSchema} from ${from};
revoke all on all tables in schema ${inSchema} from ${from};
revoke all on all sequences in schema ${inSchema} from ${from};
revoke all on all routines in schema ${inSchema} from ${from};`;
}

/** Which of the runtime grants the current role lacks, and which tables are not there. $1 schema, $2 the grants as JSON. */
export const selectMissingGrants = `select g.table_name, g.privilege, g.column_name, c.oid is not null as present
  from pg_catalog.json_to_recordset($2::text::json) as g (table_name text, privilege text, column_name text)
  left join pg_catalog.pg_namespace n on n.nspname = $1::text
  left join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = g.table_name and c.relkind in ('r', 'p')
  left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = g.column_name and not a.attisdropped
  where case
    when c.oid is null then true
    when g.column_name is null then not pg_catalog.has_table_privilege(c.oid, g.privilege)
    when a.attnum is null then true
    else not pg_catalog.has_column_privilege(c.oid, a.attnum, g.privilege)
  end`;

/** The second parameter of {@link selectMissingGrants}. */
export function grantsAsJson(): string {
  return JSON.stringify(
    runtimeGrants.flatMap(({ table, privileges, updatable = [] }) => [
      ...privileges.map((privilege) => ({ table_name: table, privilege, column_name: null })),
      ...updatable.map((column) => ({ table_name: table, privilege: "update", column_name: column })),
    ]),
  );
}
