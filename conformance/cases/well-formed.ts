import type { JobsOperation } from "../../capability/index.ts";
import type { ConformanceCaller } from "../jobs-conformance.ts";
import type { Rig } from "../rig.ts";

/** Of the form of an id and a token, and nobody's. */
export const nobodys = {
  job_id: `job_${"A".repeat(24)}`,
  lease_token: `job_lease_${"A".repeat(43)}`,
};

/** A request of each operation that is fine in itself and changes at most one thing, and who may send it. */
export function wellFormed(rig: Rig): Readonly<Record<JobsOperation, WellFormed>> {
  return {
    claim: { caller: "worker", request: { queue: "other" } },
    complete: { caller: "worker", request: { ...nobodys } },
    enqueue: { caller: "producer", request: { ...rig.request() } },
    fail: { caller: "worker", request: { ...nobodys, failure_code: "busy", retryable: true } },
    inspect: { caller: "observer", request: { job_id: nobodys.job_id } },
    renew: { caller: "worker", request: { ...nobodys } },
  };
}

/** A request that may be sent, and by whom. */
export interface WellFormed {
  readonly caller: ConformanceCaller;
  readonly request: Readonly<Record<string, unknown>>;
}

/** The names of the six operations. */
export const operationNames: readonly JobsOperation[] = [
  "claim",
  "complete",
  "enqueue",
  "fail",
  "inspect",
  "renew",
];

/** What a raw call came to, in one phrase: `success`, the domain code, or `runtime` and the kind. */
export async function rawVerdict(
  rig: Rig,
  caller: ConformanceCaller,
  operation: string,
  payload: unknown,
): Promise<string> {
  const outcome = await rig.handle(caller).invoke(operation, payload);
  if (outcome.kind === "success") return "success";
  return outcome.kind === "domain" ? String(outcome.value) : `runtime ${outcome.failure.kind}`;
}
