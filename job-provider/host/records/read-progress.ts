import { instantText } from "../../../tasks/jobs/records/record-session.ts";
import type { JobProgressUpdate } from "../../provider/attempt-services.ts";
import type { JobSession } from "./job-session.ts";

/** The latest progress that an attempt reported. */
export interface JobProgress {
  readonly update: JobProgressUpdate;
  /** When it was recorded: RFC 3339, UTC, of the database's clock. */
  readonly at: string;
}

/** The latest progress of a job: null before the first, undefined when there is no such job. */
export async function readProgress(session: JobSession, id: string): Promise<JobProgress | null | undefined> {
  const text = `select progress::text as progress, ${instantText("progress_at")} as at from ${session.table("job")}
    where host_id = $1::text and id = $2::text::uuid`;
  const [row] = await session.query(text, [session.hostId, id]);
  if (row === undefined) return undefined;
  if (row["progress"] === null) return null;
  return Object.freeze({
    update: Object.freeze(JSON.parse(row["progress"] as string) as JobProgressUpdate),
    at: row["at"] as string,
  });
}
