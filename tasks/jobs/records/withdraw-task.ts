import type { RecordSession } from "./record-session.ts";

/** Forgets a task that nobody can have seen: recorded, never dispatched, and without a deduplication key. */
export async function withdrawTask(session: RecordSession, id: string): Promise<void> {
  const text = `
    delete from ${session.table("task")}
    where queue = $1::text and id = $2::text::uuid and state = 'pending' and attempt = 0 and dispatch = 1 and job_id is null`;
  await session.query(text, [session.queue, id]);
}
