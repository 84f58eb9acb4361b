/** The most memory that the process had, looked at each time that it is asked to, and every 10 ms. */
export interface PeakMemory extends Disposable {
  note(): void;
  /** The peak so far, in MiB. */
  readonly mebibytes: number;
}

/** Begins to look. */
export function watchMemory(): PeakMemory {
  let peak = 0;
  const note = (): void => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  const timer = setInterval(note, 10);
  return {
    note,
    get mebibytes() {
      return Math.round(peak / 2 ** 20);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
