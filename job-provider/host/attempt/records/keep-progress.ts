import type { JobProgressUpdate } from "../../../provider/attempt-services.ts";
import type { JobSession } from "../../records/job-session.ts";
import type { Fence } from "../../records/record-types.ts";
import { fenceValues, heldRow } from "./fence-guard.ts";

/** Keeps the latest progress of a job, in place of the one before. False when the fence no longer holds. */
export async function keepProgress(
  session: JobSession,
  fence: Fence,
  update: JobProgressUpdate,
): Promise<boolean> {
  const { clock, table } = session;
  const text = `
    with ${heldRow(session)}
    update ${table("job")} j set progress = $6::text::json, progress_at = ${clock} from held where j.id = held.id
    returning 1 as kept`;
  const rows = await session.query(text, [...fenceValues(session, fence), JSON.stringify(update)]);
  return rows.length > 0;
}
