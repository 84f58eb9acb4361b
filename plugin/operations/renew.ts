import type { LeaseRequest, ProviderResult, RenewResponse } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import { leaseProof } from "./lease-proof.ts";
import { type OperationDeps, refuse } from "./operation.ts";

/** Prolongs a valid lease; never revives an expired one. */
export async function renew(
  deps: OperationDeps,
  call: Call,
  request: LeaseRequest,
): Promise<ProviderResult<RenewResponse, "invalid_lease">> {
  const proof = leaseProof(call, request);
  if (proof === undefined) return refuse("invalid_lease");
  const expiresAt = await deps.store().renew(proof, call);
  return expiresAt === undefined
    ? refuse("invalid_lease")
    : { ok: true, value: { lease_expires_at: expiresAt } };
}
