import type { JobState } from "../../provider.ts";
import { instantText, type RecordSession } from "./record-session.ts";
import { type Dispatch, dispatchGraceSeconds, openStates } from "./record-state.ts";

/** The dispatch that was found lost, as it was read. */
export interface LostDispatch {
  readonly id: string;
  readonly dispatch: number;
  readonly delivery: number;
  /** Null when it was never enqueued under this number. */
  readonly jobId: string | null;
}

/**
 * Replaces a dispatch that can no longer be delivered; a record whose cancellation was asked for, or whose attempts are spent, ends
 * instead. Either way the number grows, so that whoever held the old one is fenced out. Undefined when the record has moved on since
 * it was read, or somebody prolonged its lease.
 */
export async function nextDispatch(
  session: RecordSession,
  lost: LostDispatch,
  leaseSeconds: number,
): Promise<(Dispatch & { readonly state: JobState }) | undefined> {
  const { clock } = session;
  const ends = "cancel_requested or attempt >= max_attempts";
  const text = `
    update ${session.table("task")} set
      dispatch = dispatch + 1,
      job_id = null,
      delivery = 0,
      lease_until = null,
      state = case when cancel_requested then 'cancelled' when attempt >= max_attempts then 'failed' else 'pending' end,
      error = case when cancel_requested then null when attempt >= max_attempts or state = 'running' then 'aborted' else error end,
      finished_at = case when ${ends} then ${clock} end,
      look_at = ${clock} + interval '${dispatchGraceSeconds} seconds'
    where queue = $1::text and id = $2::text::uuid and dispatch = $3::text::int and delivery = $4::text::int
      and job_id is not distinct from $5::text and state in ${openStates}
      and (lease_until is null or lease_until < ${clock} - make_interval(secs => $6::text::float8))
    returning state, dispatch, ${instantText("run_at")} as runat`;
  const [row] = await session.query(text, [
    session.queue,
    lost.id,
    String(lost.dispatch),
    String(lost.delivery),
    lost.jobId,
    String(leaseSeconds),
  ]);
  if (row === undefined) return undefined;
  return {
    id: lost.id,
    state: row["state"] as JobState,
    dispatch: row["dispatch"] as number,
    runAt: row["runat"] as string,
  };
}
