/** A bounded number of places, given out first come first served. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs `start` now, or as soon as a place is free; `start` keeps the place until {@link release}. */
  take(start: () => void): void {
    if (this.#free > 0) {
      this.#free -= 1;
      start();
    } else this.#waiting.push(start);
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}
