import type { Database } from "./database.ts";
import type { ListLeasedQueues } from "./queries/list-leased-queues.ts";
import { maxRequeued, maxRetired } from "./queries/reap-expired-leases.ts";
import type { QueueWater } from "./queue-waters.ts";

/** Bound of one round for one queue; the next round goes on. */
const maxLooks = 20;

/**
 * Takes back expired leases of all queues on a timer, so that a job is not lost from sight when nobody claims from its queue, or
 * when the queue is no longer configured. A round that fails is tried again at the next turn.
 */
export class Maintenance {
  readonly #db: Database;
  readonly #listQueues: ListLeasedQueues;
  readonly #waterOf: (queueHash: string) => QueueWater;
  readonly #intervalMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    db: Database,
    listQueues: ListLeasedQueues,
    waterOf: (queueHash: string) => QueueWater,
    intervalMs: number,
  ) {
    this.#db = db;
    this.#listQueues = listQueues;
    this.#waterOf = waterOf;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    this.#schedule(this.#intervalMs);
  }

  /** Waits for the round under way. Safe twice and before start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  /** One round, now. @throws DatabaseError */
  async run(): Promise<void> {
    for (const queueHash of await this.#listQueues(this.#db)) {
      const { reaper, ready } = this.#waterOf(queueHash);
      for (let look = 0; look < maxLooks && !this.#stopped; look += 1) {
        const reaped = await reaper.run(this.#db, "side");
        if (reaped.earliest !== undefined) ready.lower(reaped.earliest);
        if (reaped.retired < maxRetired && reaped.requeued < maxRequeued) break;
      }
    }
  }

  /** With jitter, so that many processes do not look at the same moment; slower when a round is expensive. */
  #schedule(delayMs: number): void {
    this.#timer = setTimeout(
      () => {
        const startedAt = performance.now();
        this.#round = this.run()
          .catch(() => undefined)
          .then(() => {
            if (!this.#stopped)
              this.#schedule(Math.max(this.#intervalMs, 20 * (performance.now() - startedAt)));
          });
      },
      delayMs * (0.75 + Math.random() / 2),
    );
    this.#timer.unref?.();
  }
}
