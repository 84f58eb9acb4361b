/** A place in a queue's order: by run time, as PostgreSQL prints it, then by row id. */
export interface Place {
  readonly nextRun: string;
  readonly row: string;
}

/** Before every job. */
export const beginning: Place = { nextRun: "-infinity", row: "0" };

/**
 * Where a queue's claims may start to look.
 *
 * While any old snapshot lives, PostgreSQL cannot remove the index entries of claimed rows, and a scan from the start walks all of
 * them. So a scan starts at the last place that this process claimed, which tells apart also jobs of one run time. It is only a hint: a job may become visible below
 * it (a late commit, another process), so every scan that comes back short is followed by a full one, and a full one runs on a timer
 * also under load.
 */
export class LowWater {
  #hint: Place = beginning;
  #epoch = 0;
  #fullScanAt = 0;

  /** The lower bound to look from, and a ticket to report back with. */
  start(): { readonly from: Place; readonly ticket: number } {
    return { from: this.#hint, ticket: this.#epoch };
  }

  /** True when a full scan must not wait longer, whatever hinted scans find. */
  get fullScanDue(): boolean {
    return performance.now() >= this.#fullScanAt;
  }

  /** A hinted scan claimed up to this place. Answers from before a full scan or a reset may not raise the hint. */
  raise(to: Place, ticket: number): void {
    if (ticket === this.#epoch && isBefore(this.#hint, to)) this.#hint = to;
  }

  /** A full scan claimed up to this place, or nothing: the hint becomes just that, also when it was higher. */
  setByFullScan(to: Place | undefined, tookMs: number): void {
    this.#epoch += 1;
    if (to !== undefined) this.#hint = to;
    this.#fullScanAt = performance.now() + Math.min(Math.max(1000, 20 * tookMs), 5000);
  }

  /** A job came back with this run time. */
  lower(nextRun: string): void {
    this.#epoch += 1;
    if (nextRun <= this.#hint.nextRun) this.#hint = { nextRun, row: "0" };
  }
}

/** Run times compare as texts, `-infinity` first; row ids are numbers that may not fit one. */
function isBefore(a: Place, b: Place): boolean {
  if (a.nextRun !== b.nextRun) return a.nextRun < b.nextRun;
  return a.row.length === b.row.length ? a.row < b.row : a.row.length < b.row.length;
}
