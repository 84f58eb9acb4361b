import type { JobState } from "../../provider.ts";
import { longestDelaySeconds, mostDoublings } from "../../retry-delay.ts";
import type { AttemptOutcome } from "../../worker/backend.ts";
import { instantText, type RecordSession } from "./record-session.ts";
import { type Dispatch, type Fence, fenceText, heldByGiven, nextDispatchIf } from "./record-state.ts";

/** How an attempt ended. */
export interface Settlement {
  readonly fence: Fence;
  readonly outcome: AttemptOutcome;
}

/** What a settlement left behind: when the state is pending, its next dispatch. */
export interface Settled extends Dispatch {
  readonly state: JobState;
}

/**
 * Records how each attempt ended, once; a record may be named once. A cancellation that was asked for wins over every outcome. Undefined
 * where the fence no longer holds and nothing changed.
 *
 * The delay before the next attempt follows the rule of `retryDelayMs`.
 */
export async function settleAttempts(
  session: RecordSession,
  settlements: readonly Settlement[],
): Promise<readonly (Settled | undefined)[]> {
  const again = "not cancel_requested and not given_ok and not given_final and attempt < max_attempts";
  const delay = `case when retry_backoff
      then least(retry_delay * 2.0 ^ least(attempt - 1, ${mostDoublings}) * (1 + random()), coalesce(retry_max_delay, ${longestDelaySeconds}))
      else retry_delay end`;
  const text = `
    update ${session.table("task")} set
      state = case when cancel_requested then 'cancelled' when given_ok then 'succeeded' when ${again} then 'pending'
        else 'failed' end,
      result = case when given_ok and not cancel_requested then given_result::json end,
      error = case when cancel_requested or given_ok then null else given_error end,
      run_at = case when ${again} then ${session.clock} + make_interval(secs => greatest(${delay}, given_after)) else run_at end,
      finished_at = case when ${again} then null else ${session.clock} end,
      lease_until = null,
      settled_by = given_fence,
      ${nextDispatchIf(again, session.clock)}
    from json_to_recordset($2::text::json) as given (given_n int, given_id uuid, given_dispatch int, given_job text,
      given_delivery int, given_ok boolean, given_result text, given_error text, given_final boolean, given_after float8, given_fence text)
    where ${heldByGiven(session.clock)}
    returning given_n as n, id::text as id, state, dispatch, ${instantText("run_at")} as runat`;
  const given = settlements.map(({ fence, outcome }, index) => ({
    given_n: index,
    given_id: fence.id,
    given_dispatch: fence.dispatch,
    given_job: fence.jobId,
    given_delivery: fence.delivery,
    given_ok: outcome.ok,
    given_result: outcome.ok ? JSON.stringify(outcome.result) : null,
    given_error: outcome.ok ? null : outcome.error,
    given_final: !outcome.ok && outcome.final,
    given_after: outcome.ok ? 0 : (outcome.afterSeconds ?? 0),
    given_fence: fenceText(fence),
  }));
  const rows = await session.query(text, [session.queue, JSON.stringify(given)]);
  const settled = new Map(rows.map((row) => [row["n"], settledFrom(row)]));
  return settlements.map((_, index) => settled.get(index));
}

/** What this very fence settled earlier, when its answer was lost; undefined when it settled nothing. */
export async function findSettlement(session: RecordSession, fence: Fence): Promise<Settled | undefined> {
  const text = `
    select id::text as id, state, dispatch, ${instantText("run_at")} as runat from ${session.table("task")}
    where queue = $1::text and id = $2::text::uuid and settled_by = $3::text`;
  const [row] = await session.query(text, [session.queue, fence.id, fenceText(fence)]);
  return row === undefined ? undefined : settledFrom(row);
}

function settledFrom(row: Readonly<Record<string, unknown>>): Settled {
  return {
    id: row["id"] as string,
    state: row["state"] as JobState,
    dispatch: row["dispatch"] as number,
    runAt: row["runat"] as string,
  };
}
