import type { JobState } from "../../provider.ts";
import type { AttemptOutcome } from "../../worker/backend.ts";
import { instantText, type RecordSession } from "./record-session.ts";
import { type Dispatch, type Fence, fenceText, fenceValues, heldBy, nextDispatchIf } from "./record-state.ts";

/** What a settlement left behind: when the state is pending, its next dispatch. */
export interface Settled extends Dispatch {
  readonly state: JobState;
}

/**
 * Records how an attempt ended, once. A cancellation that was asked for wins over every outcome. Undefined when the fence no longer
 * holds and nothing changed.
 *
 * The delay before the next attempt: the task's fixed delay, or with back-off twice as long after each attempt, up to its limit
 * and with up to a half taken off at random.
 */
export async function settleAttempt(
  session: RecordSession,
  fence: Fence,
  outcome: AttemptOutcome,
): Promise<Settled | undefined> {
  const succeeded = "$6::text::boolean";
  const again = `not cancel_requested and not ${succeeded} and not $9::text::boolean and attempt < max_attempts`;
  const delay = `case when retry_backoff
      then least(retry_delay * 2.0 ^ least(attempt - 1, 30), coalesce(retry_max_delay, 604800)) * (1 - random() / 2)
      else retry_delay end`;
  const text = `
    update ${session.table("task")} set
      state = case when cancel_requested then 'cancelled' when ${succeeded} then 'succeeded' when ${again} then 'pending'
        else 'failed' end,
      result = case when ${succeeded} and not cancel_requested then $7::text::json end,
      error = case when cancel_requested or ${succeeded} then null else $8::text end,
      run_at = case when ${again} then ${session.clock} + make_interval(secs => ${delay}) else run_at end,
      finished_at = case when ${again} then null else ${session.clock} end,
      lease_until = null,
      settled_by = $10::text,
      ${nextDispatchIf(again, session.clock)}
    where ${heldBy(session.clock)}
    returning state, dispatch, ${instantText("run_at")} as runat`;
  const [row] = await session.query(text, [
    ...fenceValues(session.queue, fence),
    String(outcome.ok),
    outcome.ok ? JSON.stringify(outcome.result) : null,
    outcome.ok ? null : outcome.error,
    String(!outcome.ok && outcome.final),
    fenceText(fence),
  ]);
  return row === undefined ? undefined : settledFrom(fence.id, row);
}

/** What this very fence settled earlier, when its answer was lost; undefined when it settled nothing. */
export async function findSettlement(session: RecordSession, fence: Fence): Promise<Settled | undefined> {
  const text = `
    select state, dispatch, ${instantText("run_at")} as runat from ${session.table("task")}
    where queue = $1::text and id = $2::text::uuid and settled_by = $3::text`;
  const [row] = await session.query(text, [session.queue, fence.id, fenceText(fence)]);
  return row === undefined ? undefined : settledFrom(fence.id, row);
}

function settledFrom(id: string, row: Readonly<Record<string, unknown>>): Settled {
  return {
    id,
    state: row["state"] as JobState,
    dispatch: row["dispatch"] as number,
    runAt: row["runat"] as string,
  };
}
