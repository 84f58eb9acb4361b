import type { Call } from "../../call.ts";

/** Where waiting workers learn that a queue may have a claimable job. */
export interface SignalSource {
  /** The queue that woke it, or null at the time-out or when the source closes. */
  wait(queues: readonly string[], timeoutMs: number, call: Call): Promise<string | null>;
}
