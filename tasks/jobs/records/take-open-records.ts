import type { DispatchedTable } from "./dispatched-table.ts";
import type { LostDispatch } from "./next-dispatch.ts";
import { instantText } from "./record-session.ts";

export interface OpenRecord extends LostDispatch {
  readonly runAt: string;
  /** Its lease (never started: its run time) passed more than one lease ago. */
  readonly overdue: boolean;
}

/**
 * Takes the open records that it is time to look at, at most `limit`, and sets when each is looked at next. What another sweep is
 * taking is skipped, and those that were looked at go to the end of the line, so that a long backlog hides nothing. One that only
 * waits for its turn is looked at again when it has waited twice as long (at most an hour later), so that a long backlog costs little.
 */
export async function takeOpenRecords(
  { name, owner: [column, owner], open, clock, query }: DispatchedTable,
  given: { readonly limit: number; readonly leaseSeconds: number; readonly dispatchAgainSeconds: number },
): Promise<readonly OpenRecord[]> {
  const lease = "make_interval(secs => $3::text::float8)";
  const text = `
    with moment as materialized (select ${clock} as now)
    update ${name} t set look_at = case when t.job_id is null
      then moment.now + make_interval(secs => $4::text::float8)
      else greatest(moment.now, coalesce(t.lease_until, t.run_at))
        + greatest(${lease}, least(moment.now - coalesce(t.lease_until, t.run_at), interval '1 hour')) end
    from moment
    where t.state in ${open} and t.id = any (array(
      select o.id from ${name} o
      where o.${column} = $1::text and o.state in ${open} and o.look_at <= (select now from moment)
      order by o.look_at limit $2::text::int for update skip locked))
    returning t.id::text as id, t.dispatch, t.delivery, t.job_id as job, ${instantText("t.run_at")} as runat,
      coalesce(t.lease_until, t.run_at) < moment.now - ${lease} as overdue`;
  const rows = await query(text, [
    owner,
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
