import type { Database, Lane } from "./database.ts";
import { beginning } from "./low-water.ts";
import type { ReapExpiredLeases, Reaped, ReapLimits } from "./queries/reap-expired-leases.ts";

/** Under load a queue's expired leases are taken back about this often, in ms. */
const intervalMs = 1000;

/**
 * Takes back the expired leases of one queue, not looking twice at the entries that it has seen: once every lease that expired
 * before some moment was dealt with, no later claim makes one that did. A lease that somebody held locked meanwhile may stay
 * behind, so a look from the beginning follows within five seconds.
 */
export class Reaper {
  readonly #reap: ReapExpiredLeases;
  readonly #queueHash: string;
  #from = beginning.nextRun;
  /** The first look is not due at the first claim: one that comes short looks anyway. */
  #dueAt = performance.now() + intervalMs;
  #fullLookAt = 0;

  constructor(reap: ReapExpiredLeases, queueHash: string) {
    this.#reap = reap;
    this.#queueHash = queueHash;
  }

  /** True when the queue has not been looked at for about a second, or when the last look left something behind. */
  get due(): boolean {
    return performance.now() >= this.#dueAt;
  }

  /** Takes back up to the limits. */
  async run(db: Database, lane: Lane, limits: ReapLimits): Promise<Reaped> {
    const startedAt = performance.now();
    const full = startedAt >= this.#fullLookAt;
    const reaped = await this.#reap(db, lane, this.#queueHash, full ? beginning.nextRun : this.#from, limits);
    if (reaped.retired === limits.retired || reaped.requeued === limits.requeued) {
      this.#dueAt = this.#fullLookAt = 0;
    } else {
      const now = performance.now();
      this.#dueAt = startedAt + intervalMs;
      if (full) this.#fullLookAt = now + Math.min(Math.max(1000, 20 * (now - startedAt)), 5000);
      this.#from = reaped.lookedAt;
    }
    return reaped;
  }
}
