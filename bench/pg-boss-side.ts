import { PgBoss } from "pg-boss";
import type { Side } from "./side.ts";

/**
 * pg-boss by its own API: `send`, `insert` for bulk, `fetch` in batches and `complete` for the drain. It makes no idempotency check
 * here and completes by job id.
 */
export async function pgBossSide(databaseUrl: string): Promise<Side> {
  const boss = new PgBoss({
    connectionString: databaseUrl,
    schema: "bench_pgboss",
    max: 10,
    supervise: false,
    schedule: false,
  });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue("bench");
  const data = { text: "x".repeat(80), number: 1 };
  const work = async (batchSize: number): Promise<number> => {
    const jobs = await boss.fetch("bench", { batchSize });
    if (jobs.length > 0)
      await boss.complete(
        "bench",
        jobs.map((job) => job.id),
      );
    return jobs.length;
  };
  return {
    name: "pg-boss",
    enqueue: async () => void (await boss.send("bench", data)),
    bulk: async (count) =>
      void (await boss.insert(
        "bench",
        Array.from({ length: count }, () => ({ data })),
      )),
    workOne: async () => (await work(1)) === 1,
    async drain(concurrency) {
      let done = 0;
      for (let got = await work(concurrency); got > 0; got = await work(concurrency)) done += got;
      return done;
    },
    stop: () => boss.stop({ graceful: false }),
  };
}
