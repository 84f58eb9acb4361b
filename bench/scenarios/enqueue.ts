import { withCosts } from "../run/costs.ts";
import type { SideName } from "../sides/catalogue.ts";
import { onlyProcess, type Row, type Scenario } from "./scenario.ts";

const jobSides: readonly SideName[] = [
  "lenso-jobs",
  "lenso-jobs (pg)",
  "pg-boss",
  "graphile-worker",
  "bullmq",
  "floor",
];
const taskSides: readonly SideName[] = [
  "tasks on jobs",
  "tasks on pg-boss",
  "pg-boss work()",
  "graphile-worker",
  "bullmq",
];

/** Jobs a second into an empty queue: one call at a time, 16 in flight, and a thousand at once by whatever there is for it. */
export const enqueue: Scenario = enqueueOn("enqueue", jobSides);

/** The same for tasks, with the wake-ups that an idle worker needs. */
export const taskEnqueue: Scenario = enqueueOn("task-enqueue", taskSides);

function enqueueOn(name: string, sides: readonly SideName[]): Scenario {
  const what = name === "enqueue" ? "enqueue" : "enqueue tasks";
  const row = (id: string, title: string): Row => ({
    id: `${name}-${id}`,
    title: `${what}, ${title}`,
    unit: "jobs/s",
    better: "higher",
  });
  return {
    name,
    sides,
    rows: [row("1", "1 in flight"), row("16", "16 in flight"), row("bulk", "1000 at once")],
    async measure(stand, record) {
      const process = onlyProcess(stand);
      const { sql, spec, schema, size } = stand;
      for (const [row, width, count] of [
        [`${name}-1`, 1, size.quick ? 300 : 2000],
        [`${name}-16`, 16, size.quick || name !== "enqueue" ? 3000 : 20_000],
      ] as const) {
        await spec.tables.clear(sql, schema);
        const { value, costs } = await withCosts(sql, stand.processes, () =>
          process.ask("enqueue", { count, width }),
        );
        record(row, (count * 1000) / (value.endedAt - value.startedAt), { ...costs, jobs: count });
      }
      await spec.tables.clear(sql, schema);
      const times = size.quick || name !== "enqueue" ? 5 : 30; // a task costs many times what a job does
      const { value, costs } = await withCosts(sql, stand.processes, () =>
        process.ask("bulk", { count: 1000, times }),
      );
      record(`${name}-bulk`, (times * 1_000_000) / (value.endedAt - value.startedAt), {
        ...costs,
        jobs: times * 1000,
      });
      await spec.tables.clear(sql, schema);
    },
  };
}
