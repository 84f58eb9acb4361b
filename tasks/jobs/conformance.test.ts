import { SQL } from "bun";
import { describeTaskProviderConformance, type ProviderUnderTest } from "../conformance/index.ts";
import { openTaskWorld, type TaskWorldOptions } from "./testing/task-world.ts";

for (const jobs of ["same", "separate"] as const) {
  describeTaskProviderConformance({
    name: `lenso.jobs@1 in the ${jobs} database`,
    open: () => openQueue({ jobs, leaseSeconds: 6 }),
    openWithLongLeases: () => openQueue({ jobs, leaseSeconds: 600 }),
  });
}

async function openQueue(options: TaskWorldOptions): Promise<ProviderUnderTest> {
  const world = await openTaskWorld(options);
  const signals = world.signals();
  return {
    provider: () => world.provider({ sweepIntervalSeconds: 1, ...(signals && { signals }) }),
    async expireLeases() {
      await world.sql`update task set lease_until = lenso_test_clock.now() where state = 'running'`;
      await world.jobsSql`update lease set expires_at = lenso_test_clock.now()`;
      await world.maintain();
      // What the next worker does: its start ends what must not run again, and the rest is left for the test.
      const backend = world.backend();
      for (const claim of await backend.fetch(100)) await backend.giveBack(claim);
    },
    async prune() {
      await world.sql`update task set finished_at = finished_at - interval '30 days' where finished_at is not null`;
      await world.sweep();
    },
    async inTransaction(work) {
      await using sql = new SQL(world.url, { max: 1 });
      await sql.begin((transaction) => work(transaction));
    },
    close: async () => world[Symbol.asyncDispose](),
  };
}
