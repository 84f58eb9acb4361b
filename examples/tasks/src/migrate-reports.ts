import type { SQL } from "bun";

/** Makes the example's own tables. Safe to repeat, and when several run at once. */
export async function migrateReports(sql: SQL): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(hashtext('task_example'))`;
    await transaction.unsafe(tables);
  });
}

const tables = `
  create table if not exists task_example_report_owners (
    report_id text primary key,
    realm_id text not null,
    subject_id text not null,
    revision int not null check (revision >= 1),
    rows_digest text not null,
    reserved_at timestamptz not null default now()
  );
  create table if not exists task_example_report_jobs (
    job_id uuid primary key,
    report_id text not null references task_example_report_owners,
    revision int not null
  );
  create table if not exists task_example_reports (
    report_id text primary key,
    revision int not null,
    rows_done int not null,
    rows_total int not null check (rows_total >= rows_done),
    summary jsonb not null,
    written_at timestamptz not null default now()
  );
  create table if not exists task_example_revoked_sessions (
    session_id uuid primary key,
    revoked_at timestamptz not null default now()
  );

  create or replace function task_example_keep_owner() returns trigger language plpgsql as $$
  begin
    raise exception 'the owner of a report never changes';
  end $$;
  create or replace trigger keep_owner before update on task_example_report_owners for each row
    when ((old.report_id, old.realm_id, old.subject_id) is distinct from (new.report_id, new.realm_id, new.subject_id))
    execute function task_example_keep_owner();
`;
