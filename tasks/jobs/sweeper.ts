import type { Trouble } from "./jobs-queue.ts";

/** Sweeps at an interval while somebody works. One for all workers of a process on the same records. */
export class Sweeper {
  readonly #sweep: () => Promise<void>;
  readonly #trouble: Trouble;
  readonly #intervalMs: number;
  readonly #sweeps = new Set<Promise<void>>();
  #users = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(sweep: () => Promise<void>, trouble: Trouble, intervalMs: number) {
    this.#sweep = sweep;
    this.#trouble = trouble;
    this.#intervalMs = intervalMs;
  }

  /** Sweeps from now on, unless another worker already made it so. */
  join(): void {
    this.#users += 1;
    if (this.#users === 1) this.#schedule();
  }

  /** Ends with the last worker that leaves. */
  leave(): void {
    this.#users -= 1;
    if (this.#users === 0) clearTimeout(this.#timer);
  }

  /** One sweep, now. Rejects when the records cannot be reached. */
  sweep(): Promise<void> {
    const sweep: Promise<void> = this.#sweep().finally(() => this.#sweeps.delete(sweep));
    this.#sweeps.add(sweep);
    return sweep;
  }

  /** Waits for the sweep under way. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#sweeps);
  }

  /** Jitter, so that many processes spread out. */
  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#tick(), this.#intervalMs * (0.8 + Math.random() * 0.4));
  }

  async #tick(): Promise<void> {
    try {
      await this.sweep();
      this.#trouble.ends("sweep");
    } catch (error) {
      this.#trouble.begins("sweep", error);
    }
    if (this.#users > 0) this.#schedule();
  }
}
