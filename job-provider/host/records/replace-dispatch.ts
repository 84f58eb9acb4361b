import type { LostDispatch } from "../../../tasks/jobs/records/next-dispatch.ts";
import { instantText } from "../../../tasks/jobs/records/record-session.ts";
import type { JobSession } from "./job-session.ts";
import { attemptsLeftBy, discardLost, lostCodes, lostPath, unenteredAfter } from "./lose-attempt.ts";
import { moveJobs } from "./move-jobs.ts";
import { dispatchGraceSeconds } from "./queue-again.ts";
import { type Dispatch, openStates } from "./record-types.ts";

/**
 * Replaces a dispatch that can no longer be delivered; an attempt that it had begun is lost with it. Either way the number grows, so that
 * whoever held the old one is fenced out. Undefined when the job has moved on since it was read, or somebody prolonged its lease; `next` is
 * undefined when it ended or asks for attention.
 */
export async function replaceDispatch(
  session: JobSession,
  lost: LostDispatch,
  leaseSeconds: number,
): Promise<{ readonly next: Dispatch | undefined } | undefined> {
  const { clock } = session;
  const text = moveJobs(session, {
    which: "j.host_id = $1::text and j.id = $2::text::uuid",
    guard: `l.dispatch = $3::text::int and l.delivery = $4::text::int and l.job_id is not distinct from $5::text
        and l.state in ${openStates}
        and (l.lease_until is null or l.lease_until < ${clock} - make_interval(secs => $6::text::float8))`,
    path: lostPath("queued"),
    codes: lostCodes(),
    set: `attempts = ${attemptsLeftBy},
        unentered = ${unenteredAfter},
        dispatch = l.dispatch + 1,
        job_id = null,
        delivery = 0,
        look_at = ${clock} + interval '${dispatchGraceSeconds} seconds'`,
    also: [discardLost(session)],
    returning: `j.state, j.dispatch, ${instantText("j.run_at")} as runat`,
  });
  const [row] = await session.query(text, [
    session.hostId,
    lost.id,
    String(lost.dispatch),
    String(lost.delivery),
    lost.jobId,
    String(leaseSeconds),
  ]);
  if (row === undefined) return undefined;
  const next = { id: lost.id, dispatch: row["dispatch"] as number, runAt: row["runat"] as string };
  return { next: row["state"] === "queued" ? next : undefined };
}
