import { withHeldTransaction } from "../run/hold-transaction.ts";
import { type Drain, drainAll } from "./drain-all.ts";
import type { Scenario } from "./scenario.ts";
import { waitingJobs } from "./waiting-jobs.ts";

/** A long drain while a transaction is held open: dead rows cannot be removed, and a queue that walks them slows down. */
export const heldDrain: Scenario = {
  name: "held-drain",
  sides: ["lenso-jobs", "pg-boss", "graphile-worker"],
  once: true,
  rows: [
    {
      id: "held-drain-kept",
      title: "500 k drain, held: rate at the end ÷ start",
      unit: "×",
      better: "higher",
    },
    { id: "held-drain", title: "500 k drain, held", unit: "jobs/s", better: "higher" },
  ],
  async measure(stand, record) {
    const count = stand.size.quick ? 50_000 : 500_000;
    await waitingJobs(stand, count);
    const drain = await withHeldTransaction(stand.databaseUrl, () => drainAll(stand, count, "batch"));
    record("held-drain-kept", rateBetween(drain, 0.9, 1) / rateBetween(drain, 0, 0.1));
    record("held-drain", drain.jobsPerSecond, drain.costs);
    await stand.spec.tables.clear(stand.sql, stand.schema);
  },
};

/** Jobs per ms between two shares of the drain. */
function rateBetween({ timeline, costs }: Drain, from: number, to: number): number {
  const at = (share: number): readonly [number, number] =>
    timeline.find(([, ended]) => ended >= share * costs.jobs) ?? [0, 0];
  const [startedAt, before] = from === 0 ? [0, 0] : at(from);
  const [endedAt, after] = at(to);
  return (after - before) / (endedAt - startedAt);
}
