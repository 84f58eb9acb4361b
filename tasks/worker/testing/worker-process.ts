// A worker in a process of its own, for what only a process can show. Prints what became of its jobs, and must end by itself.
import { runWorker } from "../run-worker.ts";
import { processTime } from "../time.ts";
import { MemoryBackend } from "./memory-backend.ts";

const rejections: unknown[] = [];
process.on("unhandledRejection", (error) => rejections.push(String(error)));
const errors: string[] = [];
const backend = new MemoryBackend(processTime, { leaseMs: 300 });
const scenario = process.argv[2];
const jobs = scenario === "detached" ? 20 : 2;
for (let index = 0; index < jobs; index += 1) backend.add();

const handlers: Record<string, (attempt: number) => void> = {
  // A detached promise that rejects after its handler has returned.
  detached: () => void Promise.resolve().then(() => Promise.reject(new Error("detached"))),
  // An event loop that is blocked for longer than the lease.
  blocked: (attempt) => {
    const until = performance.now() + (attempt === 1 ? 700 : 0);
    while (performance.now() < until);
  },
  plain: () => {},
};

const done = Promise.withResolvers<void>();
const worker = runWorker(
  backend,
  async ({ attempt }) => {
    handlers[scenario ?? "plain"]?.(attempt);
    return { ok: true, result: null };
  },
  {
    concurrency: 2,
    pollIntervalMs: 50,
    timeoutMs: 40 * 24 * 3_600_000,
    onError: (error) => errors.push(String(error)),
  },
);
const look = setInterval(() => {
  if ([...backend.jobs.values()].every(({ state }) => state === "succeeded")) done.resolve();
}, 5);
await done.promise;
clearInterval(look);
await worker.stop();
console.log(JSON.stringify({ jobs: [...backend.jobs.values()], rejections, errors, log: backend.log }));
