// A process that lives through jobs, many at once, with the garbage collector off, and prints how many bytes of JavaScript heap each call of a
// life took. Started with the URL of a database that has the schema, and the number of jobs.
import { leaseOf, newJob, ok } from "../../postgres/support/jobs.ts";
import { startJobs } from "../../postgres/support/jobs-host.ts";

const [url, count] = process.argv.slice(2) as [string, string];
const jobs = Number(count);
const host = await startJobs({ url });

async function bytesOf<T>(work: () => Promise<T>): Promise<{ readonly bytes: number; readonly value: T }> {
  const before = process.memoryUsage().heapTotal;
  const value = await work();
  return { bytes: Math.round((process.memoryUsage().heapTotal - before) / jobs), value };
}

const atOnce = <T>(work: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: jobs }, work));

async function live() {
  const enqueue = await bytesOf(() => atOnce(async () => ok(await host.producer.enqueue(newJob()))));
  const claim = await bytesOf(() => atOnce(async () => ok(await host.worker.claim({ queue: "mail" }))));
  const leases = claim.value.map(leaseOf);
  const complete = await bytesOf(() =>
    Promise.all(leases.map(async (lease) => ok(await host.worker.complete(lease)))),
  );
  return { enqueue: enqueue.bytes, claim: claim.bytes, complete: complete.bytes };
}

await live(); // compiles, connects, prepares
console.log(JSON.stringify(await live()));
await host.stop();
