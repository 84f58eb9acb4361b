import { createJobsWorker, defineJobKind, enqueueKind, handleKind } from "lenso-jobs-plugin/tasks";
import * as v from "valibot";
import { leaseSeconds, openJobsHost, valueOf } from "./jobs-host.ts";
import { inLanes } from "./lanes.ts";
import { type Load, payloadOf, queueName, type Side, type SideOptions } from "./side.ts";

/** The worker runtime straight on `lenso.jobs@1`: handlers of kinds, payloads checked at both ends. */
export async function open(options: SideOptions): Promise<Side> {
  const host = await openJobsHost(options, "bun");
  const { jobs, signals } = host;
  const run = crypto.randomUUID();
  let enqueued = 0;
  const enqueue = async (marker: number): Promise<void> => {
    enqueued += 1;
    valueOf(
      await enqueueKind(jobs, kind, {
        queue: queueName,
        payload: payloadOf(marker),
        idempotencyKey: `${run}-${enqueued}`,
      }),
    );
  };
  return {
    settings: (load) => `concurrency ${concurrencyOf[load]}`,
    enqueue,
    bulk: (count) => inLanes(count, count, () => enqueue(0)),
    async work(load, seen) {
      const worker = createJobsWorker({
        jobs,
        signals,
        queue: queueName,
        leaseSeconds,
        concurrency: concurrencyOf[load],
        handlers: [
          handleKind(kind, ({ marker }) => {
            seen.entered(marker);
            seen.ended(1);
          }),
        ],
      });
      return () => worker.stop();
    },
    close: () => host.stop(),
  };
}

/** 100 is the most that a worker takes. */
const concurrencyOf: Readonly<Record<Load, number>> = { default: 1, batch: 100, best: 100, prompt: 1 };

const kind = defineJobKind({ kind: "bench", payload: v.object({ text: v.string(), marker: v.number() }) });
