import type { WorkerTime } from "./time.ts";

/** What the runtime asks of a backend. */
export type Verb = "fetch" | "wait" | "pulse" | "settle" | "giveBack";

/** Keeps which verbs fail at present, and tells about it once: when the first of them starts to. */
export class Outage {
  readonly #failing = new Map<Verb, { readonly since: number; failures: number }>();
  readonly #time: WorkerTime;
  readonly #tell: (error: unknown) => void;

  constructor(time: WorkerTime, tell: (error: unknown) => void) {
    this.#time = time;
    this.#tell = tell;
  }

  /** Notes a failure. Returns how many there were in a row, and for how long this verb has been failing. */
  failed(verb: Verb, error: unknown): { readonly failures: number; readonly forMs: number } {
    if (this.#failing.size === 0) this.#tell(error);
    const state = this.#failing.get(verb) ?? { since: this.#time.now(), failures: 0 };
    state.failures += 1;
    this.#failing.set(verb, state);
    return { failures: state.failures, forMs: this.#time.now() - state.since };
  }

  succeeded(verb: Verb): void {
    this.#failing.delete(verb);
  }
}
