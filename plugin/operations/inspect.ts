import type { InspectRequest, InspectResponse, ProviderResult } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import { parseJobId } from "../job-id.ts";
import { type OperationDeps, refuse } from "./operation.ts";

/** Shows the durable state of one job, in one snapshot. */
export async function inspect(
  deps: OperationDeps,
  call: Call,
  request: InspectRequest,
): Promise<ProviderResult<InspectResponse, "job_not_found">> {
  const id = parseJobId(request.job_id);
  if (id === undefined) return refuse("job_not_found");
  const job = await deps.store().inspect(id, call);
  if (job === undefined) return refuse("job_not_found");
  return {
    ok: true,
    value: {
      job_id: request.job_id,
      queue: job.queue,
      kind: job.kind,
      status: job.status,
      attempts: job.attempts,
      max_attempts: job.maxAttempts,
      available_at: job.availableAt,
      lease_expires_at: job.leaseExpiresAt,
      last_failure_code: job.lastFailureCode,
      created_at: job.createdAt,
      updated_at: job.updatedAt,
    },
  };
}
