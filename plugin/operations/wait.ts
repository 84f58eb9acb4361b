import type { ProviderResult, WaitRequest, WaitResponse } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import type { SignalSource } from "../store/wake/signal-source.ts";
import { refuse } from "./operation.ts";

/** What `wait` works with. */
export interface WaitDeps {
  readonly queues: ReadonlySet<string>;
  /** @throws RuntimeFailureError `unavailable` before `prepare`, `admission_closed` after `deactivate`. */
  signals(): SignalSource;
}

/** Returns when a job of one of the queues may be claimable, or null at the time-out. */
export async function wait(
  deps: WaitDeps,
  call: Call,
  request: WaitRequest,
): Promise<ProviderResult<WaitResponse, "invalid_queue">> {
  const queues = [...new Set(request.queues)];
  const known =
    queues.length >= 1 && request.queues.length <= 64 && queues.every((queue) => deps.queues.has(queue));
  if (!known) return refuse("invalid_queue");
  return { ok: true, value: { queue: await deps.signals().wait(queues, request.timeout_ms, call) } };
}
