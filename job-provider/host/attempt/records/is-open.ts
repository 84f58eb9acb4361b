import type { JobSession } from "../../records/job-session.ts";
import { openStates } from "../../records/record-types.ts";

/** Whether a job may still be run by a delivery. One that is finished, asks for attention or does not exist may not. */
export async function isOpen(session: JobSession, id: string): Promise<boolean> {
  const text = `
    select 1 as open from ${session.table("job")}
    where host_id = $1::text and id = $2::text::uuid and state in ${openStates}`;
  return (await session.query(text, [session.hostId, id])).length > 0;
}
