import type { JobSession } from "../../records/job-session.ts";
import { type Fence, fromJson, openStates } from "../../records/record-types.ts";
import { fenceValues } from "./fence-guard.ts";

/**
 * Takes a job's fence for a delivery of its own dispatch that raises the delivery number: whoever held it before can write nothing more. The
 * job's state stays. Answers the provider's id, or undefined when the delivery does not match: another dispatch or Jobs job, not a later
 * delivery, or a job that is not open.
 *
 * Not to be repeated after a lost answer: the second try would find its own delivery and call it a stale one.
 */
export async function raiseFence(session: JobSession, fence: Fence): Promise<string | undefined> {
  const text = `
    update ${session.table("job")} set job_id = $4::text, delivery = $5::text::int
    where host_id = $1::text and id = $2::text::uuid and dispatch = $3::text::int
      and (job_id is null or job_id = $4::text) and delivery < $5::text::int and state in ${openStates}
    returning provider_id as provider`;
  const [row] = await session.query(text, fenceValues(session, fence));
  return row === undefined ? undefined : fromJson(row["provider"]);
}
