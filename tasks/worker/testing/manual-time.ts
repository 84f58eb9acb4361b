import type { WorkerTime } from "../time.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Time that stands still until a test moves it. */
export class ManualTime implements WorkerTime {
  #now = 1000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves on, firing each timer at its own time and letting everything that follows from it happen. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (let next = this.#nextUntil(end); next !== undefined; next = this.#nextUntil(end)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await settled();
    }
    this.#now = end;
    await settled();
  }

  /** Moves on without firing anything, as a handler does that blocks the event loop. */
  block(ms: number): void {
    this.#now += ms;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  #nextUntil(end: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  }
}

/** Resolves when all that can happen without time passing has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
