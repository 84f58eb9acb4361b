import type { Database } from "./database.ts";
import type { ListLeasedQueues } from "./queries/list-leased-queues.ts";
import type { QueueWater } from "./queue-waters.ts";

/** Bound of one round for one queue; the next round goes on. */
const maxLooks = 20;
const limits = { retired: 1000, requeued: 1000 };
/** An expensive round is followed by a longer pause, but by none that an operator would notice. */
const longestPauseMs = 60_000;

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
        const reaped = await reaper.run(this.#db, "side", limits);
        if (reaped.earliest !== undefined) ready.lower(reaped.earliest);
        if (reaped.retired < limits.retired && reaped.requeued < limits.requeued) break;
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
            const pauseMs = Math.min(20 * (performance.now() - startedAt), longestPauseMs);
            if (!this.#stopped) this.#schedule(Math.max(this.#intervalMs, pauseMs));
          });
      },
      delayMs * (0.75 + Math.random() / 2),
    );
    this.#timer.unref?.();
  }
}
