import type { CompleteResponse, LeaseRequest, ProviderResult } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import { leaseProof } from "./lease-proof.ts";
import { type OperationDeps, refuse } from "./operation.ts";

/** Settles a valid lease as succeeded. Asking again after a lost reply gives the same answer. */
export async function complete(
  deps: OperationDeps,
  call: Call,
  request: LeaseRequest,
): Promise<ProviderResult<CompleteResponse, "invalid_lease">> {
  const proof = leaseProof(call, request);
  if (proof === undefined) return refuse("invalid_lease");
  const completed = await deps.store().complete(proof, call);
  return completed ? { ok: true, value: { completed: true } } : refuse("invalid_lease");
}
