import type { Database, Lane } from "./database.ts";
import { beginning } from "./low-water.ts";
import {
  maxRequeued,
  maxRetired,
  type ReapExpiredLeases,
  type Reaped,
} from "./queries/reap-expired-leases.ts";

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
  #from = beginning;
  #dueAt = 0;
  #fullLookAt = 0;

  constructor(reap: ReapExpiredLeases, queueHash: string) {
    this.#reap = reap;
    this.#queueHash = queueHash;
  }

  /** True when the queue has not been looked at for about a second, or when the last look left something behind. */
  get due(): boolean {
    return performance.now() >= this.#dueAt;
  }

  /** Takes back a bounded number. */
  async run(db: Database, lane: Lane): Promise<Reaped> {
    const startedAt = performance.now();
    const full = startedAt >= this.#fullLookAt;
    this.#dueAt = startedAt + intervalMs;
    const reaped = await this.#reap(db, lane, this.#queueHash, full ? beginning : this.#from);
    if (reaped.retired === maxRetired || reaped.requeued === maxRequeued) {
      this.#dueAt = this.#fullLookAt = 0;
    } else {
      const now = performance.now();
      if (full) this.#fullLookAt = now + Math.min(Math.max(1000, 20 * (now - startedAt)), 5000);
      this.#from = reaped.lookedAt;
    }
    return reaped;
  }
}
