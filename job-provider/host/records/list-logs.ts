import { instantText } from "../../../tasks/jobs/records/record-session.ts";
import type { JobLogEntry } from "../../provider/attempt-services.ts";
import type { JobSession } from "./job-session.ts";
import { fromJson } from "./record-types.ts";

/** A line of a job's log. */
export interface JobLogLine extends JobLogEntry {
  /** 1 and up, in the order in which they were recorded. */
  readonly ordinal: number;
  /** RFC 3339, UTC, of the database's clock. */
  readonly at: string;
  /** Which attempt wrote it. */
  readonly attemptId: string;
}

/** Lines after an ordinal, in order. Undefined when there is no such job. */
export async function listLogs(
  session: JobSession,
  id: string,
  given: { readonly after: number; readonly limit: number },
): Promise<readonly JobLogLine[] | undefined> {
  const text = `select g.* from ${session.table("job")} j
    left join lateral (select ordinal, ${instantText("at")} as at, level, message, attempt from ${session.table("log")}
      where job = j.id and ordinal > $3::text::int order by ordinal limit $4::text::int) g on true
    where j.host_id = $1::text and j.id = $2::text::uuid order by g.ordinal`;
  const rows = await session.query(text, [session.hostId, id, String(given.after), String(given.limit)]);
  if (rows.length === 0) return undefined;
  return rows
    .filter((row) => row["ordinal"] !== null)
    .map((row) =>
      Object.freeze({
        ordinal: row["ordinal"] as number,
        at: row["at"] as string,
        level: row["level"] as JobLogEntry["level"],
        message: fromJson(row["message"]),
        attemptId: row["attempt"] as string,
      }),
    );
}
