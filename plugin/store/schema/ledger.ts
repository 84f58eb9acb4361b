import { quoteIdentifier, quoteLiteral } from "./identifier.ts";
import type { Migration } from "./migrations.ts";

/** What the marker's only row says. The UUID was drawn once, for this purpose: no other software writes it by chance. */
export const schemaMark = "lenso.jobs@1 11e8e954-5cc3-41d0-9dd5-a968e2e6afcd";

/**
 * Creates the marker, which says that a schema is ours, and the ledger of what was applied to it. They come before every
 * migration; whatever changes them later is a migration.
 */
export const createLedger: string = `create table lenso_jobs_marker (
  only_one boolean primary key default true check (only_one),
  mark text collate "C" not null
);
comment on table lenso_jobs_marker is 'This schema belongs to the Lenso Jobs plugin. Only "lenso-jobs" changes it.';
insert into lenso_jobs_marker (mark) values (${quoteLiteral(schemaMark)});

create table lenso_jobs_ledger (
  version integer primary key check (version > 0),
  name text collate "C" not null,
  checksum text collate "C" not null check (length(checksum) = 64),
  oldest_build integer not null check (oldest_build between 1 and version),
  applied_at timestamptz not null default clock_timestamp(),
  applied_by text collate "C" not null default session_user
);
comment on table lenso_jobs_ledger is 'Applied migrations. oldest_build is the oldest build of the plugin that may run on the result.';`;

/** Records that a migration was applied. */
export function recordMigration(migration: Migration): string {
  const { version, name, checksum, oldestBuild } = migration;
  return `insert into lenso_jobs_ledger (version, name, checksum, oldest_build)
  values (${version}, ${quoteLiteral(name)}, ${quoteLiteral(checksum)}, ${oldestBuild});`;
}

/** Reads the marker's row and the whole ledger in one snapshot. */
export function selectLedger(schema: string): string {
  const inSchema = quoteIdentifier(schema);
  return `select m.mark, l.version::text as version, l.name, l.checksum, l.oldest_build::text as oldest_build
    from ${inSchema}.lenso_jobs_marker m left join ${inSchema}.lenso_jobs_ledger l on true
    order by l.version`;
}
