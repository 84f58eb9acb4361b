import type { RecordSession } from "./record-session.ts";
import type { Dispatch } from "./record-state.ts";

/** Whether a dispatch still waits to be enqueued. Undefined when its record cannot be seen: not committed, or rolled back. */
export async function isUndispatched(
  session: RecordSession,
  { id, dispatch }: Dispatch,
): Promise<boolean | undefined> {
  const text = `
    select job_id is null and state = 'pending' and dispatch = $3::text::int as waits
    from ${session.table("task")} where queue = $1::text and id = $2::text::uuid`;
  const [row] = await session.query(text, [session.queue, id, String(dispatch)]);
  return row?.["waits"] as boolean | undefined;
}
