import type { CancelOutcome } from "../../provider.ts";
import type { RecordSession } from "./record-session.ts";
import { openStates } from "./record-state.ts";

/** Where the record's database notifies of the ids of running tasks that are to be cancelled. They are unique, whatever the queue. */
export const cancelChannel = "lenso_task_cancel";

/** Ends a pending task, so that no delivery can start it; asks the holder of a running one to stop, and tells whoever listens. */
export async function requestCancel(session: RecordSession, id: string): Promise<CancelOutcome> {
  const table = session.table("task");
  const text = `
    with changed as (
      update ${table} set
        cancel_requested = true,
        state = case when state = 'pending' then 'cancelled' else state end,
        error = case when state = 'pending' then null else error end,
        finished_at = case when state = 'pending' then ${session.clock} end
      where queue = $1::text and id = $2::text::uuid and state in ${openStates}
      returning case when state = 'running' then 'requested' else 'cancelled' end as outcome
    ), told as materialized (
      select pg_catalog.pg_notify('${cancelChannel}', $2::text) as notice from changed where outcome = 'requested'
    )
    select coalesce((select outcome from changed), 'terminal') as outcome, (select count(notice) from told)::int as told
    from ${table} where queue = $1::text and id = $2::text::uuid`;
  const [row] = await session.query(text, [session.queue, id]);
  return (row?.["outcome"] as CancelOutcome | undefined) ?? "missing";
}
