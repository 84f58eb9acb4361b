// A process of workers: works its queues until SIGTERM, tells what happens as lines of JSON, and then ends by itself. It is started
// by startWorkerProcess with its options as its one argument.
import { createTaskQueue, type TaskLogger } from "../../../tasks/index.ts";
import { behave, faultTasks, noRecorder, openRecorder } from "./fault-tasks.ts";
import { openProviders } from "./open-provider.ts";
import type { WorkerOptions, WorkerProcessOptions } from "./worker-process.ts";

const { kind, url, workers, drainMs } = JSON.parse(process.argv[2] as string) as WorkerProcessOptions;

const tell = (event: string, fields: object = {}): void =>
  void process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
for (const event of ["unhandledRejection", "uncaughtException"] as const)
  process.on(event, (error: unknown) =>
    tell(event, { message: String(error), stack: error instanceof Error ? error.stack : undefined }),
  );

async function startWorker(options: WorkerOptions): Promise<() => Promise<void>> {
  const { queue: name, behaviour, proxyUrl = url, concurrency = 1, quiet = false, timeoutMs } = options;
  const log = (fields: object, message: string): void =>
    tell("log", { queue: name, message, error: "err" in fields ? String(fields.err) : undefined });
  const logger: TaskLogger = { info: () => undefined, warn: log, error: log };
  const providers = await openProviders({
    ...options,
    kind,
    url: proxyUrl,
    queues: [name],
    makeQueues: false,
    onError: (error) => tell("error", { queue: name, message: String(error) }),
  });
  const recorder = quiet ? noRecorder : openRecorder(url, name);
  const tasks = faultTasks(async (context) => {
    const { jobId, attempt, signal } = context;
    const tellOf = (event: string, fields?: object): void =>
      quiet ? undefined : tell(event, { queue: name, jobId, attempt, ...fields });
    signal.addEventListener("abort", () => tellOf("aborted", { reason: String(signal.reason) }));
    try {
      return await behave(behaviour, context, recorder, tellOf);
    } finally {
      tellOf("left");
    }
  });
  const queue = createTaskQueue({
    provider: providers.open(name, options.changes),
    tasks: [tasks.many, tasks.once],
    logger,
  });
  queue.startWorker({ concurrency, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  return async () => {
    await queue.close(drainMs === undefined ? {} : { drainMs });
    tell("queue closed", { queue: name });
    await providers.close();
    await recorder.close();
  };
}

const closes = await Promise.all(workers.map(startWorker));
process.once("SIGTERM", () => {
  const began = performance.now();
  void Promise.all(closes.map((close) => close())).then(() =>
    tell("closed", { afterMs: Math.round(performance.now() - began) }),
  );
});
tell("started");
