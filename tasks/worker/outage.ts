import type { WorkerTime } from "./time.ts";

/** What the runtime asks of a backend. */
export type Verb = "fetch" | "wait" | "pulse" | "settle" | "giveBack";

/** Keeps which verbs fail at present, and tells about it once: when the first of them starts to. */
export class Outage {
  readonly #failing = new Map<Verb, { readonly since: number; lastAt: number; failures: number }>();
  readonly #time: WorkerTime;
  readonly #tell: (error: unknown) => void;
  readonly #pastMs: number;

  /**
   * `pastMs`: without a further failure for so long a verb's failure is past, since nobody may have asked it again, as after the pulse of a
   * handler that has ended. Must be longer than a try and the pause before the next one. Default 60 000.
   */
  constructor(time: WorkerTime, tell: (error: unknown) => void, pastMs = 60_000) {
    this.#time = time;
    this.#tell = tell;
    this.#pastMs = pastMs;
  }

  /** Notes a failure. Returns how many there were in a row, and for how long this verb has been failing. */
  failed(verb: Verb, error: unknown): { readonly failures: number; readonly forMs: number } {
    const now = this.#time.now();
    for (const [other, { lastAt }] of this.#failing)
      if (now - lastAt > this.#pastMs) this.#failing.delete(other);
    if (this.#failing.size === 0) this.#tell(error);
    const state = this.#failing.get(verb) ?? { since: now, lastAt: now, failures: 0 };
    state.failures += 1;
    state.lastAt = now;
    this.#failing.set(verb, state);
    return { failures: state.failures, forMs: now - state.since };
  }

  succeeded(verb: Verb): void {
    this.#failing.delete(verb);
  }
}
