import { withCosts } from "../run/costs.ts";
import { drainAll } from "./drain-all.ts";
import { onlyProcess, type Row, type Scenario } from "./scenario.ts";

/** What a job costs from its enqueue to its end: 16 enqueues in flight, then a drain in batches of 500. */
export const costs: Scenario = {
  name: "costs",
  sides: ["lenso-jobs", "lenso-jobs (pg)", "pg-boss", "graphile-worker", "bullmq", "floor"],
  rows: (
    [
      ["wal", "WAL a job, whole life", "bytes"],
      ["commits", "commits a job, whole life", "transactions"],
      ["server-cpu", "server CPU a job, whole life", "µs"],
      ["client-cpu", "client CPU a job, whole life", "µs"],
      ["heap", "client heap after the work", "bytes"],
    ] as const
  ).map(([id, title, unit]): Row => ({ id: `cost-${id}`, title, unit, better: "lower" })),
  async measure(stand, record) {
    const { sql, spec, schema, size, processes } = stand;
    const count = size.quick ? 3000 : 20_000;
    await spec.tables.clear(sql, schema);
    await sql.unsafe("checkpoint"); // each page is written to the WAL whole once after it: let all sides start there
    const enqueued = await withCosts(sql, processes, () =>
      onlyProcess(stand).ask("enqueue", { count, width: 16 }),
    );
    const { costs: drained } = await drainAll(stand, count, "batch");
    const a = enqueued.costs;
    record("cost-wal", (a.walBytes + drained.walBytes) / count);
    record("cost-commits", (a.writeTransactions + drained.writeTransactions) / count);
    if (a.serverCpuMicroseconds !== undefined && drained.serverCpuMicroseconds !== undefined)
      record("cost-server-cpu", (a.serverCpuMicroseconds + drained.serverCpuMicroseconds) / count);
    record("cost-client-cpu", (a.clientCpuMicroseconds + drained.clientCpuMicroseconds) / count);
    const usages = await Promise.all(processes.map((process) => process.usage()));
    record("cost-heap", Math.max(...usages.map(({ heapBytes }) => heapBytes)));
    await spec.tables.clear(sql, schema);
  },
};
