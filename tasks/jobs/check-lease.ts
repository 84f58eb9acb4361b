import type { ClaimResponse, JobsClient } from "../../capability/index.ts";
import { SafeCause, TaskQueueError } from "../task-queue-error.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";

/**
 * Compares a real lease with the configured length. `inspect` shows both ends of it in the Jobs database's own time: when the claim
 * changed the job, and when the lease expires. False when the job has moved on and nothing can be said.
 *
 * @throws TaskQueueError `invalid-options` when they differ. @throws JobsRefusal when there was no answer.
 */
export async function checkLease(
  jobs: JobsClient,
  claimed: ClaimResponse,
  leaseSeconds: number,
): Promise<boolean> {
  const answer = await jobs.inspect({ job_id: claimed.job_id });
  if (!answer.ok) {
    if (domainCode(answer.error) === "job_not_found") return false;
    throw new JobsRefusal("inspect", answer.error);
  }
  const { status, lease_expires_at: expires, updated_at: changed } = answer.value;
  if (status !== "running" || expires !== claimed.lease_expires_at) return false;
  const seconds = (Date.parse(expires) - Date.parse(changed)) / 1000;
  if (Math.abs(seconds - leaseSeconds) < 0.01) return true;
  const cause = new SafeCause(
    `leaseSeconds: expected the lease_seconds of the Jobs Instance, whose leases last ${seconds} s, got ${leaseSeconds}`,
  );
  throw new TaskQueueError("invalid-options", "work", { cause });
}
