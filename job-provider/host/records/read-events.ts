import type { JobProjectionEvent } from "../../lifecycle/job-events.ts";
import type { JobLifecycleState } from "../../lifecycle/job-lifecycle.ts";
import type { JobSession } from "./job-session.ts";
import { readJob } from "./read-job.ts";

/** Some events of a job, in order. */
export interface EventPage {
  readonly events: readonly JobProjectionEvent[];
  /** The job has ended: no event will be added. */
  readonly isOver: boolean;
}

/** The events of a job after a revision, at most `limit`, frozen. Undefined when there is no such job. */
export async function readEvents(
  session: JobSession,
  id: string,
  given: { readonly after: number; readonly limit: number },
): Promise<EventPage | undefined> {
  const text = `select e.revision, e.state, j.finished_at is not null as over from ${session.table("job")} j
    left join lateral (select e.revision, e.state from ${session.table("event")} e
      where e.job = j.id and e.revision > $3::text::int order by e.revision limit $4::text::int) e on true
    where j.host_id = $1::text and j.id = $2::text::uuid order by e.revision`;
  const rows = await session.query(text, [session.hostId, id, String(given.after), String(given.limit)]);
  if (rows[0] === undefined) return undefined;
  const reference = Object.freeze({ hostId: session.hostId, jobId: id });
  const events: JobProjectionEvent[] = rows
    .filter((row) => row["revision"] !== null && row["revision"] !== 1)
    .map((row) =>
      Object.freeze({
        type: "job-lifecycle-changed",
        revision: row["revision"] as number,
        reference,
        state: row["state"] as JobLifecycleState,
      }),
    );
  if (rows[0]["revision"] === 1) {
    // What it was accepted with never changes, so it may be read at any time after.
    const job = await readJob(session, id);
    if (job === undefined) return undefined;
    const { provider, input, configuration } = job;
    events.unshift(
      Object.freeze({ type: "job-accepted", revision: 1, reference, provider, input, configuration }),
    );
  }
  return { events, isOver: rows[0]["over"] === true };
}
