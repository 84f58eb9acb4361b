import { type RecordSession, secondsAfter } from "./record-session.ts";
import { openStates } from "./record-state.ts";

/**
 * Stores which Jobs job carries a dispatch. The first writer wins: a second job of the same dispatch is a no-op when it is delivered.
 */
export async function markDispatched(
  session: RecordSession,
  given: {
    readonly id: string;
    readonly dispatch: number;
    readonly jobId: string;
    readonly leaseSeconds: number;
  },
): Promise<void> {
  const text = `
    update ${session.table("task")}
    set job_id = $4::text, look_at = ${secondsAfter(`greatest(run_at, ${session.clock})`, "$5")}
    where queue = $1::text and id = $2::text::uuid and dispatch = $3::text::int and job_id is null and state in ${openStates}`;
  await session.query(text, [
    session.queue,
    given.id,
    String(given.dispatch),
    given.jobId,
    String(given.leaseSeconds),
  ]);
}
