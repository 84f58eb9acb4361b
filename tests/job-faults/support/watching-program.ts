// Watches a job with many watches at once until it has ended, and prints how many events each of them saw and by how many MiB the process grew over
// what it had after five hundred of them. Its one argument: the options of its host, the job, and how many watches.
import type { JobReference } from "../../../job-provider/index.ts";
import { type FaultHostOptions, openFaultHost } from "./open-fault-host.ts";
import { watchMemory } from "./peak-memory.ts";

const { reference, watches, ...options } = JSON.parse(process.argv[2] as string) as FaultHostOptions & {
  readonly reference: JobReference;
  readonly watches: number;
};

await using opened = await openFaultHost(options);
using memory = watchMemory();
let before = 0;

/** How many events came, and whether they were those from the first to the last without a gap. */
async function follow(): Promise<{ readonly events: number; readonly isWhole: boolean }> {
  let events = 0;
  let isWhole = true;
  for await (const { revision } of opened.host.watch(reference)) {
    events += 1;
    isWhole &&= revision === events;
    if (events === 500) {
      memory.note();
      before = Math.max(before, memory.mebibytes);
    }
  }
  return { events, isWhole };
}

const followed = await Promise.all(Array.from({ length: watches }, follow));
console.log(
  JSON.stringify({
    fewest: Math.min(...followed.map(({ events }) => events)),
    areWhole: followed.every(({ isWhole }) => isWhole),
    grownMebibytes: memory.mebibytes - before,
  }),
);
