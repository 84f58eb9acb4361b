import type { JobSession } from "./job-session.ts";
import { moveJobs } from "./move-jobs.ts";

/**
 * Cancels a job that has not ended, at once, also while an attempt runs: whatever that writes from here on is refused. The job's revision
 * afterwards; undefined when it had ended, or there is no such job.
 */
export async function cancelJobIfOpen(session: JobSession, id: string): Promise<number | undefined> {
  const text = moveJobs(session, {
    which: "j.host_id = $1::text and j.id = $2::text::uuid",
    guard: "l.finished_at is null",
    path: "'{cancelled}'",
    returning: "j.revision",
  });
  const [row] = await session.query(text, [session.hostId, id]);
  return row?.["revision"] as number | undefined;
}
