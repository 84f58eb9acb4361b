import type { EnqueueRequest } from "../../../capability/index.ts";
import { type ChaosRun, chaosQueues, drawFrom } from "./chaos-run.ts";

/** Which of two payloads a key is sent with: they are different intents. */
export type Variant = 0 | 1;

const attempts = [1, 2, 4, 6, 8] as const;

/** The request behind a key: whoever sends it, and however often, the intent is the same. */
export function intentOf(run: ChaosRun, key: string, variant: Variant): EnqueueRequest {
  const draw = drawFrom(run, "intent", key);
  const delayMs = draw(4) === 0 ? draw(8000) : 0;
  return {
    queue: chaosQueues[draw(chaosQueues.length)] ?? chaosQueues[0],
    kind: "chaos",
    max_attempts: attempts[draw(attempts.length)] ?? 4,
    available_at: new Date(Date.parse(run.startedAt) + delayMs).toISOString(),
    idempotency_key: key,
    payload: { key, variant },
  };
}
