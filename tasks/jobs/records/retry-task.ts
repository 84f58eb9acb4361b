import { instantText, type RecordSession } from "./record-session.ts";
import { type Dispatch, nextDispatchIf } from "./record-state.ts";

/** Opens a failed task again for exactly one more attempt, due at once, however many it had left. Undefined for any other state. */
export async function retryTask(session: RecordSession, id: string): Promise<Dispatch | undefined> {
  const text = `
    update ${session.table("task")} set
      state = 'pending',
      max_attempts = attempt + 1,
      cancel_requested = false,
      error = null,
      run_at = ${session.clock},
      finished_at = null,
      settled_by = null,
      ${nextDispatchIf("true", session.clock)}
    where queue = $1::text and id = $2::text::uuid and state = 'failed'
    returning dispatch, ${instantText("run_at")} as runat`;
  const [row] = await session.query(text, [session.queue, id]);
  return row === undefined
    ? undefined
    : { id, dispatch: row["dispatch"] as number, runAt: row["runat"] as string };
}
