/**
 * Where a queue's claims may start to look.
 *
 * While any old snapshot lives, PostgreSQL cannot remove the index entries of claimed rows, and a scan from the start walks all of
 * them. So a scan starts at the largest run time that this process claimed. It is only a hint: a job may become visible below
 * it (a late commit, another process), so every scan that comes back short is followed by a full one, and a full one runs on a timer
 * also under load.
 */
export class LowWater {
  #hint = beginning;
  #epoch = 0;
  #fullScanAt = 0;

  /** The lower bound to look from, and a ticket to report back with. */
  start(): { readonly from: string; readonly ticket: number } {
    return { from: this.#hint, ticket: this.#epoch };
  }

  /** True when a full scan must not wait longer, whatever hinted scans find. */
  get fullScanDue(): boolean {
    return performance.now() >= this.#fullScanAt;
  }

  /** A hinted scan claimed up to this run time. Answers from before a full scan or a reset may not raise the hint. */
  raise(to: string, ticket: number): void {
    if (ticket === this.#epoch && to > this.#hint) this.#hint = to;
  }

  /** A full scan claimed up to this run time, or nothing: the hint becomes just that, also when it was higher. */
  setByFullScan(to: string | undefined, tookMs: number): void {
    this.#epoch += 1;
    if (to !== undefined) this.#hint = to;
    this.#fullScanAt = performance.now() + Math.min(Math.max(1000, 20 * tookMs), 5000);
  }

  /** A job came back with this run time. */
  lower(to: string): void {
    this.#epoch += 1;
    if (to < this.#hint) this.#hint = to;
  }
}

/** Sorts before every timestamp, as text and for PostgreSQL. */
export const beginning = "-infinity";
