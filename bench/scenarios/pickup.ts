import { percentile } from "./percentile.ts";
import type { Row, Scenario } from "./scenario.ts";

/** From the enqueue call to the entered handler, on an idle queue with an idle worker: producer and worker in one process, or in two. */
export const pickup: Scenario = {
  name: "pickup",
  sides: ["jobs worker", "tasks on jobs", "tasks on pg-boss", "pg-boss work()", "graphile-worker", "bullmq"],
  processes: 2,
  rows: (["same", "other"] as const)
    .flatMap((where): Row[] => {
      const title = `idle pick-up, ${where === "same" ? "one process" : "two processes"}`;
      return [
        { id: `pickup-${where}-p50`, title: `${title}, p50`, unit: "ms", better: "lower" },
        { id: `pickup-${where}-p99`, title: `${title}, p99`, unit: "ms", better: "lower" },
        { id: `pickup-${where}-trips`, title: `${title}, p50`, unit: "round trips", better: "lower" },
      ];
    })
    .concat({
      id: "pickup-commits",
      title: "two empty commits after a rest, p50",
      unit: "round trips",
      better: "lower",
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
      const tripMs = await afterRest(() => sql`select 1`);
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
    const trip = await afterRest(() => sql`select 1`);
    const commits = await afterRest(async () => {
      for (let commit = 0; commit < 2; commit += 1)
        await sql`select pg_catalog.pg_logical_emit_message(true, 'bench', '')`;
    });
    record("pickup-commits", commits / trip);
  },
};

/** The median in ms of some work on a connection that rested before, as the pick-up's does. */
async function afterRest(work: () => Promise<unknown>): Promise<number> {
  const durations: number[] = [];
  for (let time = 0; time < 30; time += 1) {
    await Bun.sleep(10 + Math.random() * 10);
    const startedAt = performance.now();
    await work();
    durations.push(performance.now() - startedAt);
  }
  return percentile(durations, 0.5);
}
