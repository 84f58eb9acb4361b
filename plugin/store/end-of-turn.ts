/**
 * Runs what is due once the callers of this turn of the event loop have made all their calls: what one answer of the database sets off
 * is one turn, however many promises lie between. No timer, and nothing is waited for.
 */
export class EndOfTurn {
  #first: (() => void)[] = [];
  #second: (() => void)[] = [];
  #isDue = false;

  /** `rank` 1 goes before 2. May be called while the turn ends: then it is of that same turn. */
  run(rank: 1 | 2, start: () => void): void {
    (rank === 1 ? this.#first : this.#second).push(start);
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#end);
  }

  readonly #end = (): void => {
    for (let start = this.#next(); start !== undefined; start = this.#next()) start();
    this.#isDue = false;
  };

  #next(): (() => void) | undefined {
    return this.#first.shift() ?? this.#second.shift();
  }
}
