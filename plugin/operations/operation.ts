import type { ProviderResult } from "../../capability/index.ts";
import type { JobStore } from "../store/job-store.ts";

/** What every operation works with: the configured queues, and the store once the Instance is prepared. */
export interface OperationDeps {
  readonly queues: ReadonlySet<string>;
  /** @throws RuntimeFailureError `unavailable` before `prepare`, `admission_closed` after `deactivate`. */
  store(): JobStore;
}

/** A refusal of the capability, as a result. */
export function refuse<Code extends string>(code: Code): ProviderResult<never, Code> {
  return { ok: false, error: { kind: "domain", error: code } };
}
