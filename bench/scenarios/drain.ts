import type { SideName } from "../sides/catalogue.ts";
import type { Load } from "../sides/side.ts";
import { drainAll } from "./drain-all.ts";
import type { Scenario } from "./scenario.ts";
import { waitingJobs } from "./waiting-jobs.ts";

const jobSides: readonly SideName[] = [
  "lenso-jobs",
  "lenso-jobs (pg)",
  "lenso-jobs (statements)",
  "pg-boss",
  "graphile-worker",
  "bullmq",
  "floor",
];

/** They get a fifth of the jobs, which takes them as long. */
const slowSides: readonly SideName[] = ["bullmq", "tasks on jobs"];

/** No-op jobs worked off by one process: 500 in a batch, and with the settings that each side is best at. */
export const drain: Scenario = drainOn("drain", jobSides, 1, [
  ["batch", "batch 500"],
  ["best", "each at its best"],
]);

/** The same by four processes together. */
export const drainFour: Scenario = drainOn("drain-4", jobSides, 4, [
  ["batch", "batch 500, 4 processes"],
  ["best", "each at its best, 4 processes"],
]);

/** No-op tasks by worker runtimes. pg-boss's defaults, half a job a second, are not in it. */
export const taskDrain: Scenario = drainOn(
  "task-drain",
  ["jobs worker", "tasks on jobs", "tasks on pg-boss", "pg-boss work()", "graphile-worker", "bullmq"],
  1,
  [["best", "tasks, each at its best"]],
);

/** One handler at a time with every default: what somebody gets who only wrote a handler. */
export const taskDrainDefault: Scenario = drainOn(
  "task-drain-default",
  ["jobs worker", "tasks on jobs", "tasks on pg-boss", "graphile-worker", "bullmq"],
  1,
  [["default", "tasks, defaults (one at a time)"]],
  { full: 2000, quick: 200 },
);

function drainOn(
  name: string,
  sides: readonly SideName[],
  processes: number,
  loads: readonly (readonly [Load, string])[],
  jobs: { readonly full: number; readonly quick: number } = { full: 60_000, quick: 5000 },
): Scenario {
  return {
    name,
    sides,
    processes,
    rows: loads.map(([load, title]) => ({
      id: `${name}-${load}`,
      title: `drain, ${title}`,
      unit: "jobs/s",
      better: "higher",
    })),
    async measure(stand, record) {
      const slow = slowSides.includes(stand.spec.name);
      const all = stand.size.quick ? jobs.quick : jobs.full;
      const count = slow ? Math.max(200, all / 5) : all;
      for (const [load] of loads) {
        await waitingJobs(stand, count);
        const { jobsPerSecond, costs } = await drainAll(stand, count, load);
        record(`${name}-${load}`, jobsPerSecond, costs);
      }
      await stand.spec.tables.clear(stand.sql, stand.schema);
    },
  };
}
