import type { LeaseRequest } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import { parseJobId } from "../job-id.ts";
import { hashLeaseToken } from "../lease-token.ts";
import type { LeaseProof } from "../store/job-store.ts";

/** What the caller shows for its lease, or undefined when id or token is malformed and can name none. */
export function leaseProof(call: Call, request: LeaseRequest): LeaseProof | undefined {
  const id = parseJobId(request.job_id);
  const tokenHash = hashLeaseToken(request.lease_token);
  return id && tokenHash ? { id, tokenHash, owner: call.caller ?? "" } : undefined;
}
