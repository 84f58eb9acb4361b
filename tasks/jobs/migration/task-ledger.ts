import type { Session } from "../../../plugin/store/drivers/driver.ts";
import { quoteIdentifier, quoteLiteral } from "../../../plugin/store/schema/identifier.ts";
import type { Migration } from "../../../plugin/store/schema/migrations.ts";

/** What the marker's only row says. Drawn once, for this purpose: no other software writes it by chance. */
const mark = "lenso.tasks/jobs 7c1c4d0e-7f0f-4f6b-9d0b-3c1f2a5e9b64";

/** Creates the marker, which says that a schema is ours, and the ledger of what was applied to it. */
export const createTaskLedger: string = `create table lenso_tasks_marker (
  only_one boolean primary key default true check (only_one),
  mark text collate "C" not null
);
comment on table lenso_tasks_marker is 'This schema belongs to the task provider on lenso.jobs@1. Only migrateJobsTaskQueue changes it.';
insert into lenso_tasks_marker (mark) values (${quoteLiteral(mark)});
create table lenso_tasks_ledger (
  version integer primary key check (version > 0),
  name text collate "C" not null,
  checksum text collate "C" not null check (length(checksum) = 64),
  oldest_build integer not null check (oldest_build between 1 and version),
  applied_at timestamptz not null default clock_timestamp(),
  applied_by text collate "C" not null default session_user
);`;

/** Records that a migration was applied. */
export function recordTaskMigration({ version, name, checksum, oldestBuild }: Migration): string {
  return `insert into lenso_tasks_ledger (version, name, checksum, oldest_build)
    values (${version}, ${quoteLiteral(name)}, ${quoteLiteral(checksum)}, ${oldestBuild});`;
}

/** What is in a schema, as far as it concerns us. */
export type TaskSchemaState =
  | { readonly kind: "absent" }
  /** Exists without our marker. */
  | { readonly kind: "unmanaged" }
  /** Not what the migrations made: the first version that differs. */
  | { readonly kind: "diverged"; readonly version: number }
  /** Ours, with these migrations of this build applied; `oldestBuild` is the oldest one that may run on it. */
  | { readonly kind: "managed"; readonly version: number; readonly oldestBuild: number };

/** Looks at a schema and changes nothing. */
export async function readTaskSchema(
  session: Pick<Session, "query">,
  schema: string,
  migrations: readonly Migration[],
): Promise<TaskSchemaState> {
  const [seen] = await session.query(
    `select exists (select from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = 'lenso_tasks_marker') as marked
     from pg_catalog.pg_namespace n where n.nspname = $1::text`,
    [schema],
  );
  if (seen === undefined) return { kind: "absent" };
  if (seen["marked"] !== true) return { kind: "unmanaged" };
  const inSchema = quoteIdentifier(schema);
  const rows = await session.query(
    `select m.mark, l.version, l.checksum, l.oldest_build as oldest
     from ${inSchema}.lenso_tasks_marker m left join ${inSchema}.lenso_tasks_ledger l on true order by l.version`,
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
