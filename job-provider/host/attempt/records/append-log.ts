import type { JobLogEntry } from "../../../provider/attempt-services.ts";
import type { JobSession } from "../../records/job-session.ts";
import { asJson, type Fence } from "../../records/record-types.ts";
import { attemptText, fenceValues, heldRow } from "./fence-guard.ts";

/**
 * Appends lines to a job's log. A job keeps `limit` lines; the first one that is too many becomes a last line that says so, and what comes after
 * it is dropped. False when the fence no longer holds.
 */
export async function appendLog(
  session: JobSession,
  fence: Fence,
  entries: readonly JobLogEntry[],
  limit: number,
): Promise<boolean> {
  const { clock, table } = session;
  const text = `
    with ${heldRow(session)},
    line as (
      insert into ${table("log")} (job, ordinal, at, attempt, level, message)
      select held.id, held.log_count + given.n, ${clock}, $6::text,
        case when held.log_count + given.n > $8::text::int then 'warn' else given.level end,
        case when held.log_count + given.n > $8::text::int then $9::text else given.message end
      from held, json_to_recordset($7::text::json) as given (n int, level text, message text)
      where held.log_count + given.n <= $8::text::int + 1
      returning 1
    ),
    counted as (
      update ${table("job")} j set log_count = held.log_count + (select count(*)::int from line)
      from held where j.id = held.id and exists (select from line)
    )
    select count(*)::int as held from held`;
  const lines = entries.map(({ level, message }, index) => ({
    n: index + 1,
    level,
    message: asJson(message),
  }));
  const [row] = await session.query(text, [
    ...fenceValues(session, fence),
    attemptText(fence),
    JSON.stringify(lines),
    String(limit),
    asJson(`the log is full at ${limit} lines: what follows is dropped`),
  ]);
  return row?.["held"] === 1;
}
