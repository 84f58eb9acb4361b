import type { SideName } from "../sides/catalogue.ts";

/** What this package has set itself. */
export interface Target {
  readonly row: string;
  /** Whose figure has to meet it. */
  readonly us: SideName;
  /** The side that the figure is divided by; undefined: the figure itself. */
  readonly against?: SideName;
  readonly must: number;
  readonly aim?: number;
  readonly is: "at least" | "at most";
}

const floorOf = (us: SideName, row: string, against: SideName, must: number, aim?: number): Target => ({
  row,
  us,
  against,
  must,
  ...(aim === undefined ? {} : { aim }),
  is: "at least",
});
const both = (
  row: string,
  pgBoss: readonly [must: number, aim: number],
  graphile: readonly [must: number, aim: number],
): readonly Target[] => [
  floorOf("lenso-jobs", row, "pg-boss", ...pgBoss),
  floorOf("lenso-jobs", row, "graphile-worker", ...graphile),
];

/** Every target. One whose row or peer was not measured is left out of the report. */
export const targets: readonly Target[] = [
  ...both("enqueue-1", [1.7, 2.3], [2, 2.7]),
  ...both("enqueue-16", [6, 10], [10, 16]),
  ...both("enqueue-bulk", [1.1, 1.7], [0.65, 1.05]),
  ...both("drain-batch", [2.3, 3.4], [1.1, 1.5]),
  ...both("drain-best", [2.5, 4], [1.4, 2.2]),
  ...both("steady", [1.6, 2.3], [1.5, 2]),
  ...both("steady-held", [2, 3], [1.7, 2.4]),
  { row: "held-drain-kept", us: "lenso-jobs", must: 0.8, aim: 0.95, is: "at least" },
  { row: "pickup-same-p50", us: "jobs worker", against: "pg-boss work()", must: 0.6, is: "at most" },
  { row: "pickup-same-p50", us: "jobs worker", against: "graphile-worker", must: 0.75, is: "at most" },
  { row: "pickup-same-trips", us: "jobs worker", must: 6, aim: 2.5, is: "at most" },
  { row: "pickup-other-trips", us: "jobs worker", must: 6, aim: 2.5, is: "at most" },
  floorOf("lenso-jobs", "life-1", "floor", 0.75, 0.95),
  { row: "cost-wal", us: "lenso-jobs", must: 1536, aim: 1024, is: "at most" },
  ...["due", "finished"].map(
    (kind): Target => ({
      row: `backlog-ratio-${kind}-5000000`,
      us: "lenso-jobs",
      must: 1.5,
      aim: 1.15,
      is: "at most",
    }),
  ),
];
