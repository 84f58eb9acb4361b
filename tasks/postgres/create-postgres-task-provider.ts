import { adviseOnDatabase, placeOf } from "../advise-on-database.ts";
import { callQuietly } from "../logger.ts";
import type { Execute, ProviderWorkerOptions, TaskProvider, TaskWorker } from "../provider.ts";
import { type TaskErrorPhase, TaskQueueError } from "../task-queue-error.ts";
import { runWorker } from "../worker/run-worker.ts";
import { cancelJob } from "./cancel-job.ts";
import { enqueueTask } from "./enqueue-task.ts";
import {
  checkProviderOptions,
  type PostgresTaskProviderOptions,
  type PostgresTaskProviderSettings,
} from "./options.ts";
import { connectQueue, type Queue, type QueueConnection } from "./queue.ts";
import { getJob, isUuid, listJobs, lookupKey, queueIdentity } from "./read-jobs.ts";
import { retryJob } from "./retry-job.ts";
import { SchemaUnfit } from "./schema.ts";
import { createPostgresBackend, type PostgresBackend } from "./worker-backend.ts";
import { createWorkerServices, type WorkerServices } from "./worker-services.ts";

/**
 * A task queue on pg-boss 12. Connects at its first use and never changes the schema nor makes a queue: where one is missing, or the schema
 * is an older one, calls and a worker's `done` reject with `invalid-options`, and the message names the command. Nothing runs in the background before the first
 * worker starts; jobs of a crashed worker are recovered only while some provider of the queue has a worker.
 *
 * `transaction` of an enqueue is the caller's open transaction on the same database: a kysely `Transaction`, the `tx` of drizzle (on
 * node-postgres or `Bun.SQL`), or a `pg` client between BEGIN and COMMIT. Job and deduplication key come and go with it, savepoints
 * included, and so with the caller's own rows; workers are woken by the commit. A refused enqueue (a conflict, an expired key) leaves the
 * transaction usable. Nothing is ever sent on another connection instead. A bare `Bun.SQL` transaction cannot be joined.
 *
 * @throws TaskQueueError `invalid-options`
 *
 * @example
 * const provider = createPostgresTaskProvider({ queueName: "reports", connectionString });
 */
export function createPostgresTaskProvider(options: PostgresTaskProviderOptions): Required<TaskProvider> {
  const settings = checkProviderOptions(options);
  const connection = connectQueue(settings);
  // Handlers may hold every connection of a borrowed pool, while their claims have to be renewed.
  const ofWorkers = settings.pool === undefined ? connection : connectQueue(settings, { beside: true });
  const onError = (error: unknown): void => callQuietly(() => settings.onError?.(error));
  const hints = { place: placeOf(settings.connectionString), grants: grantsOf(settings.schema) };
  const services = createWorkerServices(ofWorkers, settings.superviseIntervalSeconds, onError);
  const workers = new Set<TaskWorker>();
  let closing: Promise<void> | undefined;

  const ask = async <T>(phase: TaskErrorPhase, work: (queue: Queue) => Promise<T>): Promise<T> => {
    if (closing) throw new TaskQueueError("closed", phase);
    try {
      return await work(await connection.ready());
    } catch (cause) {
      if (cause instanceof TaskQueueError) throw cause;
      if (cause instanceof SchemaUnfit) throw new TaskQueueError("invalid-options", phase, { cause });
      throw new TaskQueueError("provider-unavailable", phase, {
        cause,
        advice: adviseOnDatabase(cause, hints),
      });
    }
  };

  return {
    enqueue: (request) => ask("enqueue", (queue) => enqueueTask(queue, request)),
    get: (jobId) => ask("get", (queue) => getJob(queue, jobId)),
    cancel: (jobId) =>
      ask("cancel", async (queue) => {
        const outcome = await cancelJob(queue, jobId);
        if (outcome === "requested") services.cancelRequested(jobId);
        return outcome;
      }),
    retry: (jobId) => ask("retry", (queue) => retryJob(queue, jobId)),
    list: (query) =>
      ask("list", (queue) => {
        if (query.after === undefined || isUuid(query.after)) return listJobs(queue, query);
        const cause = new TypeError("after: expected a job id");
        throw new TaskQueueError("invalid-options", "list", { cause });
      }),
    identity: () => ask("identity", queueIdentity),
    lookupDeduplicationKey: (key) => ask("lookup", (queue) => lookupKey(queue, key)),
    startWorker(execute, workerOptions) {
      if (closing) throw new TaskQueueError("closed", "work");
      const worker = startWorker(
        { connection: ofWorkers, services, settings, onError },
        execute,
        workerOptions,
      );
      workers.add(worker);
      const forget = (): void => void workers.delete(worker);
      worker.done.then(forget, forget);
      return worker;
    },
    close() {
      closing ??= (async () => {
        await Promise.all(Array.from(workers, (worker) => worker.stop()));
        try {
          await Promise.all([connection.close(), ofWorkers.close()]);
        } catch (cause) {
          throw new TaskQueueError("provider-unavailable", "close", { cause });
        }
      })();
      return closing;
    },
  };
}

/** pg-boss names no narrower set. */
function grantsOf(schema: string): string {
  const of = `schema "${schema}"`;
  return `grant usage on ${of}, and grant select, insert, update, delete on all tables in ${of}, to the provider's role after each migration`;
}

interface WorkerDeps {
  readonly connection: QueueConnection;
  readonly services: WorkerServices;
  readonly settings: PostgresTaskProviderSettings;
  readonly onError: (error: unknown) => void;
}

function startWorker(
  { connection, services, settings, onError }: WorkerDeps,
  execute: Execute,
  options: ProviderWorkerOptions,
): TaskWorker {
  const backend = createPostgresBackend(connection, settings.heartbeatSeconds);
  const firstLook = services.join(backend);
  // A batch may be over before the first interval: it recovers what a crashed one left before it asks what is due.
  const before = options.maxJobs === undefined ? undefined : firstLook;
  const { pollIntervalMs } = settings;
  const worker = runWorker(fatalWithoutSchema(backend, before), execute, {
    ...options,
    pollIntervalMs,
    onError,
  });
  const done = (async () => {
    try {
      await worker.done;
    } finally {
      await services.leave(backend);
    }
  })();
  const ended = done.catch(() => {}); // whoever awaits `done` is told; nobody else has to be
  return {
    done,
    async stop(stopOptions) {
      await worker.stop(stopOptions);
      await ended;
    },
  };
}

/** A worker waits out an outage, but not a schema that is missing: no waiting helps there. */
function fatalWithoutSchema(backend: PostgresBackend, before: Promise<void> | undefined): PostgresBackend {
  return {
    ...backend,
    async fetch(count) {
      await before;
      try {
        return await backend.fetch(count);
      } catch (cause) {
        throw cause instanceof SchemaUnfit ? new TaskQueueError("invalid-options", "work", { cause }) : cause;
      }
    },
  };
}
