import { type Costs, withCosts } from "../run/costs.ts";
import { withHeldTransaction } from "../run/hold-transaction.ts";
import { onlyProcess, type Scenario, type Stand } from "./scenario.ts";

const atOnce = 200;

/** Producers and a worker at once for a while, some thousand jobs waiting: alone, and with a transaction held open elsewhere. */
export const steady: Scenario = {
  name: "steady",
  sides: ["lenso-jobs", "lenso-jobs (pg)", "pg-boss", "graphile-worker", "bullmq"],
  rows: [
    { id: "steady", title: "steady mixed load", unit: "jobs/s", better: "higher" },
    { id: "steady-held", title: "steady, transaction held open", unit: "jobs/s", better: "higher" },
  ],
  async measure(stand, record) {
    const seconds = stand.size.quick ? 3 : 10;
    const alone = await run(stand, seconds);
    record("steady", alone.jobsPerSecond, alone.costs);
    const held = await withHeldTransaction(stand.databaseUrl, () => run(stand, seconds));
    record("steady-held", held.jobsPerSecond, held.costs);
    await stand.spec.tables.clear(stand.sql, stand.schema);
  },
};

async function run(
  stand: Stand,
  seconds: number,
): Promise<{ readonly jobsPerSecond: number; readonly costs: Costs & { readonly jobs: number } }> {
  const { sql, spec, schema, processes } = stand;
  const process = onlyProcess(stand);
  await spec.tables.clear(sql, schema);
  const { value: perSecond, costs } = await withCosts(sql, processes, async () => {
    await process.ask("startWork", { load: "batch" });
    return process.ask("steady", { seconds, atOnce });
  });
  await process.ask("stopWork", null);
  const jobsPerSecond = perSecond.reduce((sum, rate) => sum + rate, 0) / perSecond.length;
  // One second more than was counted: it came up to speed first.
  return { jobsPerSecond, costs: { ...costs, jobs: jobsPerSecond * (seconds + 1) } };
}
