import { PgBoss } from "pg-boss";
import { inLanes } from "./lanes.ts";
import { type Load, payloadOf, queueName, type Seen, type Side, type SideOptions } from "./side.ts";
import { takeInLanes } from "./take-in-lanes.ts";

/**
 * pg-boss by its own API. Variant `fetch`: `fetch` in batches and `complete` by id. Variant `work`: its `work()`, woken by NOTIFY, which
 * each enqueue then sends. Without idempotency keys either way.
 */
export async function open(options: SideOptions): Promise<Side> {
  const { databaseUrl, schema, variant } = options;
  const listens = variant === "work";
  const boss = new PgBoss({ connectionString: databaseUrl, schema, useListenNotify: listens });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue(queueName, { notify: listens });
  const enqueue = async (marker: number, queue = queueName): Promise<void> =>
    void (await boss.send(queue, payloadOf(marker)));
  const take = async (batchSize: number, seen?: Seen, queue = queueName): Promise<number> => {
    const jobs = await boss.fetch<Payload>(queue, { batchSize });
    for (const { data } of jobs) seen?.entered(data.marker);
    if (jobs.length > 0)
      await boss.complete(
        queue,
        jobs.map(({ id }) => id),
      );
    seen?.ended(jobs.length);
    return jobs.length;
  };
  const side: Side = {
    settings: (load) =>
      listens ? describe(workOptions[load]) : `fetch ${batchOf[load].size} × ${batchOf[load].lanes}`,
    enqueue,
    async bulk(count) {
      const jobs = Array.from({ length: count }, () => ({ data: payloadOf(0) }));
      await boss.insert(queueName, jobs);
    },
    work: (load, seen) => (listens ? startWork(boss, load, seen) : startFetch(take, load, seen)),
    manyQueues: {
      prepare: (queues) => inLanes(8, queues, (index) => boss.createQueue(nameOf(index))),
      enqueue: (queue) => enqueue(0, nameOf(queue)),
      take: async (queue) => void (await take(1, undefined, nameOf(queue))),
    },
    close: () => boss.stop({ graceful: false }),
  };
  if (listens) return side;
  return {
    ...side,
    claimsWhileEnding: true,
    async claim() {
      const [job] = await boss.fetch(queueName);
      return job && (async () => void (await boss.complete(queueName, job.id)));
    },
  };
}

interface Payload {
  readonly marker: number;
}

const nameOf = (index: number): string => `${queueName}-${index}`;

const batchOf: Readonly<Record<Load, { readonly lanes: number; readonly size: number }>> = {
  default: { lanes: 1, size: 1 },
  batch: { lanes: 1, size: 500 },
  best: { lanes: 2, size: 1000 },
  prompt: { lanes: 1, size: 1 },
};

/** `default` polls every 2 s for one job: half a job a second by design, which no ratio may rest on. */
const workOptions = {
  default: {},
  batch: { batchSize: 500, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
  best: { batchSize: 500, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
  prompt: { batchSize: 1, pollingIntervalSeconds: 0.5 },
} as const;

function describe(options: object): string {
  const chosen = Object.entries(options).map(([name, value]) => `${name} ${String(value)}`);
  return ["NOTIFY", ...chosen].join(", ");
}

async function startFetch(
  take: (size: number, seen: Seen) => Promise<number>,
  load: Load,
  seen: Seen,
): Promise<() => Promise<void>> {
  const { lanes, size } = batchOf[load];
  return takeInLanes({
    lanes,
    take: () => take(size, seen),
    wait: () => new Promise((resolve) => setTimeout(resolve, 2)),
  });
}

async function startWork(boss: PgBoss, load: Load, seen: Seen): Promise<() => Promise<void>> {
  await boss.work<Payload>(queueName, workOptions[load], async (jobs) => {
    for (const { data } of jobs) seen.entered(data.marker);
    seen.ended(jobs.length);
  });
  return () => boss.offWork(queueName);
}
