import type { WorkerTime } from "./time.ts";

/**
 * How long a claim is certainly ours. Reckoned on the monotonic clock from before the claim or pulse was *sent*, less a margin: the
 * database's time is never compared with the local one.
 */
export class Lease {
  readonly #time: WorkerTime;
  #safeUntil: number;

  constructor(time: WorkerTime, sentAt: number, leaseMs: number) {
    this.#time = time;
    this.#safeUntil = sentAt + leaseMs - marginMs(leaseMs);
  }

  /** A pulse that was sent then has succeeded. */
  prolong(sentAt: number, leaseMs: number): void {
    this.#safeUntil = Math.max(this.#safeUntil, sentAt + leaseMs - marginMs(leaseMs));
  }

  /** How long the claim is still ours without another pulse, in ms; 0 when that can no longer be said. */
  get remainingMs(): number {
    return Math.max(0, this.#safeUntil - this.#time.now());
  }

  get isSafe(): boolean {
    return this.remainingMs > 0;
  }

  /** How long ago that ended, in ms. */
  get overdueMs(): number {
    return Math.max(0, this.#time.now() - this.#safeUntil);
  }
}

/** Room for timers that fire late and for clocks that run at slightly different speeds. */
function marginMs(leaseMs: number): number {
  return Math.min(leaseMs / 10, 1000);
}
