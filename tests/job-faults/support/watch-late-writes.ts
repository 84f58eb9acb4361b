import { SQL } from "bun";
import { databaseClockExpression } from "../../../host-fixtures/index.ts";

/** A row that an attempt wrote while it did not hold its job. */
export interface LateWrite {
  readonly what: string;
  readonly job: string;
  readonly attempt: string | null;
}

/**
 * Has the database itself look at every write of an attempt that it accepts: triggers compare the writer with the attempt that holds the job at
 * that moment, and its lease with the clock.
 */
export async function watchLateWrites(url: string): Promise<void> {
  await using sql = new SQL(url, { max: 1 });
  await sql.unsafe(watching).simple();
}

/** What has been accepted of attempts that held nothing. */
export async function lateWrites(sql: SQL): Promise<readonly LateWrite[]> {
  return [...(await sql`select what, job::text, attempt from fault.late_write order by number`)];
}

const watching = `
  create schema fault;
  create table fault.late_write (
    number bigint generated always as identity primary key, what text not null, job uuid not null, attempt text
  );
  create function fault.note_row() returns trigger language plpgsql as $$
  begin
    insert into fault.late_write (what, job, attempt)
      select tg_table_name, new.job, new.attempt from job_host.job j
      where j.id = new.job and (j.state <> 'running' or j.lease_until <= ${databaseClockExpression}
        or j.dispatch || '.' || j.delivery <> new.attempt);
    return null;
  end $$;
  create trigger late_artifact after insert on job_host.artifact for each row execute function fault.note_row();
  create trigger late_checkpoint after insert on job_host.checkpoint for each row execute function fault.note_row();
  create trigger late_line after insert on job_host.log for each row execute function fault.note_row();
  create function fault.note_settlement() returns trigger language plpgsql as $$
  begin
    if old.state <> 'running' or old.lease_until <= ${databaseClockExpression}
        or new.settled_by <> old.dispatch || '/' || old.job_id || '/' || old.delivery then
      insert into fault.late_write (what, job, attempt) values ('settlement', new.id, new.settled_by);
    end if;
    return null;
  end $$;
  create trigger late_settlement after update on job_host.job for each row
    when (old.settled_by is distinct from new.settled_by) execute function fault.note_settlement();
  create function fault.note_progress() returns trigger language plpgsql as $$
  begin
    if old.state <> 'running' or old.lease_until <= ${databaseClockExpression} then
      insert into fault.late_write (what, job) values ('progress', new.id);
    end if;
    return null;
  end $$;
  create trigger late_progress after update on job_host.job for each row
    when (old.progress_at is distinct from new.progress_at) execute function fault.note_progress();`;
