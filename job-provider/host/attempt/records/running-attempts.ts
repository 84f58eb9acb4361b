import type { JobSession } from "../../records/job-session.ts";
import { attemptText } from "./fence-guard.ts";

/** The attempts of a host that hold a job at this moment, in any process. */
export async function runningAttempts(
  session: JobSession,
): Promise<readonly { readonly jobId: string; readonly attemptId: string }[]> {
  const text = `
    select id::text as id, dispatch, delivery from ${session.table("job")}
    where host_id = $1::text and state = 'running'`;
  const rows = await session.query(text, [session.hostId]);
  return rows.map((row) => ({
    jobId: row["id"] as string,
    attemptId: attemptText({ dispatch: row["dispatch"] as number, delivery: row["delivery"] as number }),
  }));
}
