import type { WorkerTime } from "./time.ts";

/**
 * How long a claim is certainly ours. Reckoned on the monotonic clock from before the claim or pulse was *sent*, less a margin: the
 * database's time is never compared with the local one.
 */
export class Lease {
  readonly #time: WorkerTime;
  /** Beyond it no pulse prolongs the lease. */
  readonly #safeEnd: number;
  #safeUntil: number;

  /** `endsAt`: when the claim ends whatever pulses say. */
  constructor(time: WorkerTime, sentAt: number, leaseMs: number, endsAt: number = Number.POSITIVE_INFINITY) {
    this.#time = time;
    this.#safeEnd = endsAt - marginMs(endsAt - sentAt);
    this.#safeUntil = Math.min(this.#safeEnd, sentAt + leaseMs - marginMs(leaseMs));
  }

  /** A pulse that was sent then has succeeded. */
  prolong(sentAt: number, leaseMs: number): void {
    const until = Math.min(this.#safeEnd, sentAt + leaseMs - marginMs(leaseMs));
    this.#safeUntil = Math.max(this.#safeUntil, until);
  }

  /** How long the claim is still ours without another pulse, in ms; 0 when that can no longer be said. */
  get remainingMs(): number {
    return Math.max(0, this.#safeUntil - this.#time.now());
  }

  /** It has had all the time that it can have. */
  get isSpent(): boolean {
    return this.#time.now() >= this.#safeEnd;
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
