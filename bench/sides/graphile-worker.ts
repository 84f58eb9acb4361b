import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { type Load, payloadOf, queueName, type Side, type SideOptions } from "./side.ts";

/**
 * graphile-worker by its own API: `addJob`, `addJobs` and `run`. It deletes finished jobs, completes by id without a lease check and has
 * no way to take a job by hand.
 */
export async function open({ databaseUrl, schema, first }: SideOptions): Promise<Side> {
  const logger = new Logger(() => () => undefined);
  const common = { connectionString: databaseUrl, schema, logger };
  const utils = await makeWorkerUtils(common);
  if (first) await utils.migrate();
  return {
    settings: (load) =>
      Object.entries({ ...runOptions[load], localQueue: runOptions[load].localQueue?.size })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => `${name} ${String(value)}`)
        .join(", ") || "defaults",
    enqueue: async (marker) => void (await utils.addJob(queueName, payloadOf(marker))),
    async bulk(count) {
      await utils.addJobs(
        Array.from({ length: count }, () => ({ identifier: queueName, payload: payloadOf(0) })),
      );
    },
    async work(load, seen) {
      const runner = await run({
        logger,
        noHandleSignals: true,
        preset: {
          worker: { connectionString: databaseUrl, schema, ...runOptions[load] },
        },
        taskList: {
          [queueName]: (payload: unknown) => {
            seen.entered((payload as { readonly marker: number }).marker);
            seen.ended(1);
          },
        },
      });
      return () => runner.stop();
    },
    close: async () => utils.release(),
  };
}

interface RunOptions {
  readonly concurrentJobs?: number;
  readonly maxPoolSize?: number;
  readonly localQueue?: { readonly size: number };
  readonly completeJobBatchDelay?: number;
  readonly failJobBatchDelay?: number;
}

const runOptions: Readonly<Record<Load, RunOptions>> = {
  default: {},
  batch: {
    concurrentJobs: 24,
    maxPoolSize: 26,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
  best: {
    concurrentJobs: 100,
    maxPoolSize: 20,
    localQueue: { size: 2000 },
    completeJobBatchDelay: 5,
    failJobBatchDelay: 5,
  },
  prompt: {},
};
