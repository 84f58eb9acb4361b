import { percentile } from "./percentile.ts";
import type { Row, Scenario, Stand } from "./scenario.ts";

/** From the enqueue call to the entered handler, on an idle queue with an idle worker: producer and worker in one process, or in two. */
export const pickup: Scenario = {
  name: "pickup",
  sides: ["jobs worker", "tasks on jobs", "tasks on pg-boss", "pg-boss work()", "graphile-worker", "bullmq"],
  processes: 2,
  rows: (["same", "other"] as const).flatMap((where): readonly Row[] => {
    const title = `idle pick-up, ${where === "same" ? "one process" : "two processes"}`;
    return [
      { id: `pickup-${where}-p50`, title: `${title}, p50`, unit: "ms", better: "lower" },
      { id: `pickup-${where}-p99`, title: `${title}, p99`, unit: "ms", better: "lower" },
      { id: `pickup-${where}-trips`, title: `${title}, p50`, unit: "round trips", better: "lower" },
    ];
  }),
  async measure(stand, record) {
    const { spec, sql, schema, size, processes } = stand;
    const [one, two] = processes;
    if (one === undefined || two === undefined) throw new Error("a pick-up needs two processes");
    const count = size.quick ? 40 : 200;
    await spec.tables.clear(sql, schema);
    await one.ask("startWork", { load: "prompt" });
    await Bun.sleep(1500); // until the worker has settled into waiting
    for (const [where, producer] of [
      ["same", one],
      ["other", two],
    ] as const) {
      const tripMs = await idleRoundTrip(stand);
      const sent = await producer.ask("sendMarked", { first: 1, count, pauseMs: 30 });
      await Bun.sleep(100);
      const entered = new Map(await one.ask("entered", null));
      const delays = sent.map((at, index) => {
        const enteredAt = entered.get(index + 1);
        if (enteredAt === undefined) throw new Error(`${spec.name} did not run job ${index + 1} of ${count}`);
        return one.here(enteredAt) - producer.here(at);
      });
      record(`pickup-${where}-p50`, percentile(delays, 0.5));
      record(`pickup-${where}-p99`, percentile(delays, 0.99));
      record(`pickup-${where}-trips`, percentile(delays, 0.5) / tripMs);
    }
    await one.ask("stopWork", null);
  },
};

/** The median of a statement that does nothing, on a connection that rested before, as the pick-up's does. */
async function idleRoundTrip({ sql }: Stand): Promise<number> {
  const trips: number[] = [];
  for (let trip = 0; trip < 30; trip += 1) {
    await Bun.sleep(10 + Math.random() * 10);
    const startedAt = performance.now();
    await sql`select 1`;
    trips.push(performance.now() - startedAt);
  }
  return percentile(trips, 0.5);
}
