import type { JobsClient } from "lenso-jobs-plugin/capability";
import { nameOf, openJobsHost, valueOf } from "./jobs-host.ts";
import { inLanes } from "./lanes.ts";
import { type Load, payloadOf, queueName, type Side, type SideOptions } from "./side.ts";
import { takeInLanes } from "./take-in-lanes.ts";

/** `lenso.jobs@1` through the front door: a JobsClient from the handle of a composed host. The variant names the driver. */
export async function open(options: SideOptions): Promise<Side> {
  const host = await openJobsHost(options, options.variant === "pg" ? "pg" : "bun");
  const { jobs, signals } = host;
  const run = crypto.randomUUID();
  let enqueued = 0;
  const enqueue = async (marker: number, queue = queueName): Promise<void> => {
    enqueued += 1;
    valueOf(
      await jobs.enqueue({
        queue,
        kind: "bench",
        payload: payloadOf(marker),
        idempotency_key: `${run}-${enqueued}`,
        available_at: "2026-01-01T00:00:00Z",
        max_attempts: 3,
      }),
    );
  };
  return {
    settings: (load) => `${lanesOf[load]} calls in flight`,
    enqueue,
    bulk: (count) => inLanes(count, count, () => enqueue(0)),
    claimsWhileEnding: true,
    claim: async () => (await claim(jobs, queueName))?.end,
    manyQueues: {
      prepare: async () => undefined,
      enqueue: (queue) => enqueue(0, nameOf(queue)),
      take: async (queue) => (await claim(jobs, nameOf(queue)))?.end(),
    },
    async work(load, seen) {
      return takeInLanes({
        lanes: lanesOf[load],
        async take(stopping) {
          let taken = 0;
          for (let job = await claim(jobs, queueName); job !== undefined; taken += 1) {
            seen.entered(job.marker);
            // The end of a job and the claim of the next, called together, share a statement.
            const next = stopping.aborted ? undefined : claim(jobs, queueName);
            [job] = await Promise.all([next, job.end()]);
            seen.ended(1);
          }
          return taken;
        },
        async wait(signal) {
          const answer = await signals.wait({ queues: [queueName], timeout_ms: 1000 }, { signal });
          if (!signal.aborted) valueOf(answer);
        },
      });
    },
    close: () => host.stop(),
  };
}

/** Two batches: one for each side of the connection. More calls in flight only wait longer, and leave more to the garbage collector. */
const lanesOf: Readonly<Record<Load, number>> = { default: 1, batch: 500, best: 500, prompt: 1 };

async function claim(
  jobs: JobsClient,
  queue: string,
): Promise<{ readonly marker: number; end(): Promise<void> } | undefined> {
  const claimed = await jobs.claim({ queue });
  if (!claimed.ok && claimed.error.kind === "domain" && claimed.error.error === "no_job_available")
    return undefined;
  const { job_id, lease_token, payload } = valueOf(claimed);
  return {
    marker: Number(payload["marker"]),
    end: async () => void valueOf(await jobs.complete({ job_id, lease_token })),
  };
}
