import { eventually } from "../../task-faults/support/eventually.ts";
import type { FaultWorld } from "./open-fault-world.ts";

/**
 * Works in this process until no job is open but those that ask for attention, and nothing is left to be delivered. Whatever the dead have claimed
 * lapses first.
 */
export async function finishAll({ host, sql, lapse }: FaultWorld): Promise<void> {
  await lapse();
  const worker = host.startWorker({ concurrency: 16 });
  await eventually(
    "all jobs to end",
    async () => {
      const [row] = await sql`
        select (select count(*) from job where state in ('queued', 'running', 'waiting'))
          + (select count(*) from jobs.ready) + (select count(*) from jobs.lease) as open`;
      return Number(row.open) === 0;
    },
    120_000,
  );
  await worker.stop();
}
