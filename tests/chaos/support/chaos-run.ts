/** What every process of one run knows of it: from this alone they draw jobs, handlers and their ends. */
export interface ChaosRun {
  readonly seed: number;
  /** When it began, as RFC 3339: the run times of its jobs count from here, so that an intent is the same in every process. */
  readonly startedAt: string;
  readonly leaseSeconds: number;
}

/** The queues of a run. */
export const chaosQueues = ["mail", "bulk", "rare"] as const;

/** Numbers that are the same wherever the same words are given. */
export function drawFrom(run: ChaosRun, ...words: readonly (string | number)[]): (below: number) => number {
  let state = BigInt(Bun.hash(`${run.seed} ${words.join(" ")}`));
  return (below) => {
    state = BigInt(Bun.hash(state.toString()));
    return Number(state % BigInt(below));
  };
}
