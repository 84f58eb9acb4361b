import type { ClaimRequest, ClaimResponse, JsonObject, ProviderResult } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import { formatJobId } from "../job-id.ts";
import { type OperationDeps, refuse } from "./operation.ts";

/** Leases the next due job of a queue to the caller. */
export async function claim(
  deps: OperationDeps,
  call: Call,
  request: ClaimRequest,
): Promise<ProviderResult<ClaimResponse, "invalid_queue" | "no_job_available">> {
  const { queue } = request;
  if (!deps.queues.has(queue)) return refuse("invalid_queue");
  const job = await deps.store().claim({ queue, owner: call.caller ?? "" }, call);
  if (job === undefined) return refuse("no_job_available");
  return {
    ok: true,
    value: {
      job_id: formatJobId(job.id),
      queue,
      kind: job.kind,
      payload: JSON.parse(job.payload) as JsonObject,
      attempt: job.attempt,
      max_attempts: job.maxAttempts,
      lease_token: job.token,
      lease_expires_at: job.expiresAt,
    },
  };
}
