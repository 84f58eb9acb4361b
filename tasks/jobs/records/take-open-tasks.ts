import type { LostDispatch } from "./next-dispatch.ts";
import { instantText, type RecordSession } from "./record-session.ts";
import { openStates } from "./record-state.ts";

export interface OpenTask extends LostDispatch {
  readonly runAt: string;
  /** Its lease (never started: its run time) passed more than one lease ago. */
  readonly overdue: boolean;
}

/**
 * Takes the open records that it is time to look at, at most `limit`, and sets when each is looked at next. What another sweep is
 * taking is skipped, and those that were looked at go to the end of the line, so that a long backlog hides nothing. One that only
 * waits for its turn is looked at again when it has waited twice as long (at most an hour later), so that a long backlog costs little.
 */
export async function takeOpenTasks(
  session: RecordSession,
  given: { readonly limit: number; readonly leaseSeconds: number; readonly dispatchAgainSeconds: number },
): Promise<readonly OpenTask[]> {
  const table = session.table("task");
  const lease = "make_interval(secs => $3::text::float8)";
  const text = `
    with moment as materialized (select ${session.clock} as now)
    update ${table} t set look_at = case when t.job_id is null
      then moment.now + make_interval(secs => $4::text::float8)
      else greatest(moment.now, coalesce(t.lease_until, t.run_at))
        + greatest(${lease}, least(moment.now - coalesce(t.lease_until, t.run_at), interval '1 hour')) end
    from moment
    where t.state in ${openStates} and t.id = any (array(
      select o.id from ${table} o
      where o.queue = $1::text and o.state in ${openStates} and o.look_at <= (select now from moment)
      order by o.look_at limit $2::text::int for update skip locked))
    returning t.id::text as id, t.dispatch, t.delivery, t.job_id as job, ${instantText("t.run_at")} as runat,
      coalesce(t.lease_until, t.run_at) < moment.now - ${lease} as overdue`;
  const rows = await session.query(text, [
    session.queue,
    String(given.limit),
    String(given.leaseSeconds),
    String(given.dispatchAgainSeconds),
  ]);
  return rows.map((row) => ({
    id: row["id"] as string,
    dispatch: row["dispatch"] as number,
    delivery: row["delivery"] as number,
    jobId: row["job"] as string | null,
    runAt: row["runat"] as string,
    overdue: row["overdue"] as boolean,
  }));
}
