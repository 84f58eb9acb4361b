import { createTaskQueue, defineTask, type TaskProvider } from "lenso-jobs-plugin/tasks";
import { createJobsTaskProvider, migrateJobsTaskQueue } from "lenso-jobs-plugin/tasks/jobs";
import { createPostgresTaskProvider, migratePostgresTaskQueue } from "lenso-jobs-plugin/tasks/postgres";
import * as v from "valibot";
import { leaseSeconds, openJobsHost } from "./jobs-host.ts";
import { inLanes } from "./lanes.ts";
import { type Load, payloadOf, queueName, type Side, type SideOptions } from "./side.ts";

/** The task queue: typed tasks with records of what became of them. The variant names the provider. */
export async function open(options: SideOptions): Promise<Side> {
  const { provider, close } = await (options.variant === "postgres" ? onPgBoss : onJobs)(options);
  let seen: Parameters<Side["work"]>[1] | undefined;
  const task = defineTask({
    name: "bench",
    input: v.object({ text: v.string(), marker: v.number() }),
    handler: ({ marker }) => {
      seen?.entered(marker);
      seen?.ended(1);
    },
  });
  const queue = createTaskQueue({ provider, tasks: [task] });
  const enqueue = async (marker: number): Promise<void> =>
    void (await queue.enqueue(task, payloadOf(marker)));
  return {
    settings: (load) => `concurrency ${concurrencyOf[load]}`,
    enqueue,
    bulk: (count) => inLanes(count, count, () => enqueue(0)),
    async work(load, told) {
      seen = told;
      const worker = queue.startWorker({ concurrency: concurrencyOf[load] });
      return () => worker.stop();
    },
    async close() {
      await queue.close();
      await close();
    },
  };
}

/** 100 is the most that a worker takes. */
const concurrencyOf: Readonly<Record<Load, number>> = { default: 1, batch: 100, best: 100, prompt: 1 };

interface Opened {
  readonly provider: TaskProvider;
  close(): Promise<void>;
}

async function onJobs(options: SideOptions): Promise<Opened> {
  const { databaseUrl, schema } = options;
  const host = await openJobsHost(options, "bun");
  const records = { connectionString: databaseUrl, schema: `${schema}_records` };
  if (options.first) await migrateJobsTaskQueue(records);
  const provider = createJobsTaskProvider({
    ...records,
    jobs: host.jobs,
    signals: host.signals,
    queue: queueName,
    leaseSeconds,
  });
  return { provider, close: () => host.stop() };
}

async function onPgBoss({ databaseUrl, schema, first }: SideOptions): Promise<Opened> {
  const settings = { connectionString: databaseUrl, schema, queueName };
  if (first) await migratePostgresTaskQueue(settings);
  return { provider: createPostgresTaskProvider(settings), close: async () => undefined };
}
