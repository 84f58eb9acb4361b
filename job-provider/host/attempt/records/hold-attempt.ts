import type { PulseAnswer } from "../../../../tasks/worker/backend.ts";
import type { JobSession } from "../../records/job-session.ts";
import type { Fence } from "../../records/record-types.ts";
import { fenceValues, heldRow } from "./fence-guard.ts";

/**
 * Prolongs the record's lease after the Jobs lease has been renewed; `elapsedMs` is the time since that renewal was sent. A job that was
 * cancelled meanwhile is no longer held, and its attempt is told why.
 */
export async function holdAttempt(
  session: JobSession,
  fence: Fence,
  lease: { readonly seconds: number; readonly elapsedMs: number },
): Promise<PulseAnswer> {
  const { clock, table } = session;
  const hold = `
    with ${heldRow(session)}
    update ${table("job")} j set lease_until = greatest(j.lease_until,
      ${clock} - make_interval(secs => $6::text::float8) + make_interval(secs => $7::text::float8))
    from held where j.id = held.id returning 1 as held`;
  const values = [...fenceValues(session, fence), String(lease.elapsedMs / 1000), String(lease.seconds)];
  if ((await session.query(hold, values)).length > 0) return "held";
  // A statement of its own: the first one may have waited for the cancellation, and would still see the job as it was before.
  const look = `
    select 1 as cancelled from ${table("job")}
    where host_id = $1::text and id = $2::text::uuid and state = 'cancelled'`;
  return (await session.query(look, [session.hostId, fence.id])).length > 0 ? "cancelled" : "lost";
}
