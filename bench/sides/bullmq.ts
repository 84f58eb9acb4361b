import { createPostgresBackend, type Job, Queue, Worker } from "bullmq";
import { type Load, payloadOf, queueName, type Side, type SideOptions } from "./side.ts";

/** BullMQ on its PostgreSQL backend: `add`, `addBulk` and a `Worker`, or `getNextJob` by hand. Finished jobs stay, as by default. */
export async function open({ databaseUrl, schema, first }: SideOptions): Promise<Side> {
  const connection = { connectionString: databaseUrl, schema, max: 10, ...(first ? { migrate: true } : {}) };
  const queue = new Queue(queueName, { connection }, createPostgresBackend);
  await queue.waitUntilReady();
  const runs = { connection: { connectionString: databaseUrl, schema, max: 10 } };
  const byHand = new Worker(queueName, null, { ...runs, autorun: false }, createPostgresBackend);
  await byHand.waitUntilReady();
  const token = crypto.randomUUID();
  return {
    settings: (load) => `concurrency ${concurrencyOf[load]}`,
    enqueue: async (marker) => void (await queue.add(queueName, payloadOf(marker))),
    async bulk(count) {
      await queue.addBulk(Array.from({ length: count }, () => ({ name: queueName, data: payloadOf(0) })));
    },
    async claim() {
      const job = await byHand.getNextJob(token, { block: false });
      return job && (async () => void (await job.moveToCompleted(null, token, false)));
    },
    async work(load, seen) {
      const worker = new Worker(
        queueName,
        async ({ data }: Job<{ marker: number }>) => seen.entered(data.marker),
        { ...runs, concurrency: concurrencyOf[load] },
        createPostgresBackend,
      );
      worker.on("completed", () => seen.ended(1));
      worker.on("error", (error) => {
        throw error;
      });
      await worker.waitUntilReady();
      return () => worker.close();
    },
    async close() {
      await byHand.close();
      await queue.close();
    },
  };
}

const concurrencyOf: Readonly<Record<Load, number>> = { default: 1, batch: 100, best: 50, prompt: 1 };
