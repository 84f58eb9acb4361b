import type { FailRequest, FailResponse, ProviderResult } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import { leaseProof } from "./lease-proof.ts";
import { isName } from "./names.ts";
import { type OperationDeps, refuse } from "./operation.ts";

/** Settles a valid lease as failed: queued again after the backoff, or for good. Asking again after a lost reply gives the same answer. */
export async function fail(
  deps: OperationDeps,
  call: Call,
  request: FailRequest,
): Promise<ProviderResult<FailResponse, "invalid_lease" | "invalid_failure">> {
  const proof = leaseProof(call, request);
  if (proof === undefined) return refuse("invalid_lease");
  const { failure_code: code, retryable } = request;
  if (!isName(code, 128)) return refuse("invalid_failure");
  const verdict = await deps.store().fail(proof, { code, retryable }, call);
  if (verdict === undefined) return refuse("invalid_lease");
  return { ok: true, value: { status: verdict.status, available_at: verdict.nextRun } };
}
