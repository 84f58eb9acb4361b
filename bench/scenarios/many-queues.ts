import { onlyProcess, type Scenario, type Size } from "./scenario.ts";

const queuesOf = (size: Size): number => (size.quick ? 1000 : 10_000);

/** One job in each of ten thousand queues, 16 calls in flight. */
export const manyQueues: Scenario = {
  name: "queues",
  sides: ["lenso-jobs", "pg-boss"],
  once: true,
  queues: queuesOf,
  rows: [
    { id: "queues-enqueue", title: "enqueue, 10 000 queues, 16 in flight", unit: "jobs/s", better: "higher" },
    {
      id: "queues-take",
      title: "claim and complete, 10 000 queues, 16 in flight",
      unit: "jobs/s",
      better: "higher",
    },
  ],
  async measure(stand, record) {
    const queues = queuesOf(stand.size);
    const process = onlyProcess(stand);
    await stand.spec.tables.clear(stand.sql, stand.schema);
    await process.ask("prepareQueues", { queues });
    for (const [row, question] of [
      ["queues-enqueue", "enqueueQueues"],
      ["queues-take", "takeQueues"],
    ] as const) {
      const { startedAt, endedAt } = await process.ask(question, { queues, width: 16 });
      record(row, (queues * 1000) / (endedAt - startedAt));
    }
    await stand.spec.tables.clear(stand.sql, stand.schema);
  },
};
