// Run as a process of its own: works one job, closes, and then has nothing left that keeps it alive.
import { createPostgresTaskProvider } from "../index.ts";

const [, , connectionString = "", queueName = ""] = process.argv;
const provider = createPostgresTaskProvider({ connectionString, queueName });
const done = Promise.withResolvers<void>();
const worker = provider.startWorker(
  async () => {
    done.resolve();
    return { ok: true, result: null };
  },
  { concurrency: 2 },
);
await provider.enqueue({ task: "t", input: null, maxAttempts: 1 });
await done.promise;
await worker.stop();
await provider.close();
console.log("closed");
