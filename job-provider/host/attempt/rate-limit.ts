/** How much of something may happen: at once, and in the long run. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Lets through as much as a rate allows. What is refused is counted, to be told of later. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #now: () => number;
  #left: number;
  #at: number;
  #refused = 0;

  /** `now` in ms, on a clock that never goes back. */
  constructor(rate: Rate, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
    this.#left = rate.burst;
    this.#at = now();
  }

  /** Whether one more may happen now. */
  take(): boolean {
    const { burst, perSecond } = this.#rate;
    const now = this.#now();
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1000) * perSecond);
    this.#at = now;
    if (this.#left < 1) {
      this.#refused += 1;
      return false;
    }
    this.#left -= 1;
    return true;
  }

  /** How many were refused since this was last asked. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }
}
