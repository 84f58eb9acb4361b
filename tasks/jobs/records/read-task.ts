import type { JsonValue } from "../../../capability/index.ts";
import type { Row } from "../../../plugin/store/drivers/driver.ts";
import type { ErrorCode, JobState, JobStatus, JobSummary } from "../../provider.ts";
import type { RecordSession } from "./record-session.ts";

/** What is known of a task, without a lock. Undefined once it has been pruned, or when it never was. */
export async function readTask(session: RecordSession, id: string): Promise<JobStatus | undefined> {
  const text = `
    select ${summaryColumns}, result::text as result, error
    from ${session.table("task")} where queue = $1::text and id = $2::text::uuid`;
  const [row] = await session.query(text, [session.queue, id]);
  if (row === undefined) return undefined;
  const result = row["result"] as string | null;
  return {
    ...summaryOf(row),
    result: result === null ? null : (JSON.parse(result) as JsonValue),
    // A record keeps the error of the attempt before, which a claim that is given back leaves as it was.
    error: row["state"] === "running" ? null : (row["error"] as ErrorCode | null),
  };
}

/** The columns behind {@link summaryOf}. */
export const summaryColumns =
  "id::text as id, task, state, attempt, max_attempts as most, cancel_requested as cancelled";

export function summaryOf(row: Row): JobSummary {
  return {
    jobId: row["id"] as string,
    task: row["task"] as string,
    state: row["state"] as JobState,
    attempt: row["attempt"] as number,
    maxAttempts: row["most"] as number,
    cancelRequested: row["cancelled"] as boolean,
  };
}
