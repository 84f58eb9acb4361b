import type { JobsClient } from "../../capability/index.ts";

/** How long a lease can be at least, in ms: `lease_seconds` is 1 or more. */
export const shortestLeaseMs = 1000;

/**
 * The length of an Instance's leases, learnt from a job that runs: one snapshot holds the time of its last claim or renewal and the
 * expiry that it set, both by the database's clock, so nothing is compared with ours. Undefined when it could not be learnt.
 */
export async function measureLeaseMs(
  jobs: Pick<JobsClient, "inspect">,
  job_id: string,
  timeoutMs: number,
): Promise<number | undefined> {
  const seen = await jobs.inspect({ job_id }, { timeoutMs });
  if (!seen.ok || seen.value.status !== "running" || !seen.value.lease_expires_at) return undefined;
  const lengthMs = Date.parse(seen.value.lease_expires_at) - Date.parse(seen.value.updated_at);
  return lengthMs >= shortestLeaseMs ? lengthMs : undefined;
}
