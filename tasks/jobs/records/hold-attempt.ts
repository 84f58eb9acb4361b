import type { PulseAnswer } from "../../worker/backend.ts";
import type { RecordSession } from "./record-session.ts";
import { type Fence, fenceValues, heldBy } from "./record-state.ts";

/** Prolongs the record's lease after the Jobs lease has been renewed; `elapsedMs` is the time since that renewal was sent. */
export async function holdAttempt(
  session: RecordSession,
  fence: Fence,
  lease: { readonly seconds: number; readonly elapsedMs: number },
): Promise<PulseAnswer> {
  const text = `
    update ${session.table("task")} set lease_until = greatest(lease_until,
      ${session.clock} - make_interval(secs => $6::text::float8) + make_interval(secs => $7::text::float8))
    where ${heldBy(session.clock)}
    returning cancel_requested as cancelled`;
  const [row] = await session.query(text, [
    ...fenceValues(session.queue, fence),
    String(lease.elapsedMs / 1000),
    String(lease.seconds),
  ]);
  if (row === undefined) return "lost";
  return row["cancelled"] === true ? "cancelled" : "held";
}
