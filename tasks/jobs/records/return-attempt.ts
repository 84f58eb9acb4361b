import { instantText, type RecordSession } from "./record-session.ts";
import { type Dispatch, type Fence, fenceValues, heldBy, nextDispatchIf } from "./record-state.ts";

/**
 * Takes back an attempt whose handler was never entered: its number was not used, and the next dispatch is due at once. Answers that
 * dispatch, `"cancelled"` when a cancellation was asked for meanwhile, and undefined when the fence no longer holds.
 */
export async function returnAttempt(
  session: RecordSession,
  fence: Fence,
): Promise<Dispatch | "cancelled" | undefined> {
  const text = `
    update ${session.table("task")} set
      state = case when cancel_requested then 'cancelled' else 'pending' end,
      error = case when cancel_requested then null else error end,
      attempt = attempt - 1,
      finished_at = case when cancel_requested then ${session.clock} end,
      lease_until = null,
      ${nextDispatchIf("not cancel_requested", session.clock)}
    where ${heldBy(session.clock)}
    returning state, dispatch, ${instantText("run_at")} as runat`;
  const [row] = await session.query(text, fenceValues(session.queue, fence));
  if (row === undefined) return undefined;
  if (row["state"] === "cancelled") return "cancelled";
  return { id: fence.id, dispatch: row["dispatch"] as number, runAt: row["runat"] as string };
}
