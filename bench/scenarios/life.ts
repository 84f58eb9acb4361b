import { withCosts } from "../run/costs.ts";
import { onlyProcess, type Scenario } from "./scenario.ts";

const widths = [1, 8, 64] as const;

/**
 * Whole lives: each lane enqueues a job, takes one and ends it, then the next. graphile-worker gives no job by hand: its lane goes on when
 * the handler is entered, which leaves its completion out.
 */
export const life: Scenario = {
  name: "life",
  sides: ["lenso-jobs", "lenso-jobs (pg)", "pg-boss", "graphile-worker", "bullmq", "floor"],
  rows: widths.map((width) => ({
    id: `life-${width}`,
    title: `whole life, ${width} at a time`,
    unit: "jobs/s",
    better: "higher",
  })),
  async measure(stand, record) {
    const { sql, spec, schema, size, processes } = stand;
    for (const width of widths) {
      const count = (size.quick ? 100 : 600) * Math.ceil(Math.sqrt(width) * (width === 1 ? 1 : 2));
      await spec.tables.clear(sql, schema);
      const { value, costs } = await withCosts(sql, processes, () =>
        onlyProcess(stand).ask("life", { count, width }),
      );
      await onlyProcess(stand).ask("stopWork", null);
      record(`life-${width}`, (count * 1000) / (value.endedAt - value.startedAt), { ...costs, jobs: count });
    }
    await spec.tables.clear(sql, schema);
  },
};
