import { SQL } from "bun";
import { setup } from "../../../plugin/operator/index.ts";
import { migrateJobsTaskQueue } from "../../../tasks/jobs/index.ts";
import { migratePostgresTaskQueue } from "../../../tasks/postgres/index.ts";
import { testDatabase } from "../../support/test-database.ts";

/** A fresh database in which both providers can work, and which watches them. */
export async function faultDatabase(): Promise<string> {
  return (await testDatabase({ template: "task_faults", prepare: prepareFaultDatabase })).url;
}

/**
 * Installs the schemas of both providers and, in `fault`, what only tests have: `change` gets a row for each write of a job's state,
 * by triggers, so no write escapes it; `step` is what handlers say they did, through a connection of their own.
 */
export async function prepareFaultDatabase(url: string): Promise<void> {
  const report = await setup({ databaseUrl: url, schema: "jobs" });
  if (!report.ok) throw new Error(report.message);
  await migrateJobsTaskQueue({ connectionString: url });
  await migratePostgresTaskQueue({ connectionString: url });
  await using sql = new SQL(url, { max: 1 });
  await sql
    .unsafe(`
      create schema fault;
      create table fault.change (
        number bigint generated always as identity primary key,
        queue text not null, job uuid not null, became text not null
      );
      create table fault.step (
        number bigint generated always as identity primary key,
        queue text not null, job uuid not null, attempt int not null, pid int not null, step int not null
      );
      create function fault.note_task() returns trigger language plpgsql as $$
      begin
        insert into fault.change (queue, job, became) values (new.queue, new.id, new.state);
        return null;
      end $$;
      create trigger fault after insert or update of state on tasks.task for each row execute function fault.note_task();
      create function fault.note_job() returns trigger language plpgsql as $$
      begin
        insert into fault.change (queue, job, became) values (new.name, new.id,
          case new.state::text when 'created' then 'pending' when 'retry' then 'pending' when 'active' then 'running'
            when 'completed' then 'succeeded' else new.state::text end);
        return null;
      end $$;
      create trigger fault after insert or update of state on pgboss.job for each row execute function fault.note_job();`)
    .simple();
}
