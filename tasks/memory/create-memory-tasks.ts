import { canonicalJsonText } from "../json-value.ts";
import type { JobPage, ProviderEnqueue, TaskProvider, TaskWorker } from "../provider.ts";
import type { TaskQueue } from "../task-queue.ts";
import { SafeCause, TaskQueueError } from "../task-queue-error.ts";
import { runWorker } from "../worker/run-worker.ts";
import { MemoryBackend } from "./memory-backend.ts";
import { MemoryTable, statusOf } from "./memory-table.ts";

/** One queue in memory. It ends with the process; nothing in it is durable. */
export interface MemoryTasks {
  /** A provider of this queue. Several of them share its jobs, as processes share a database. */
  provider(): Required<TaskProvider>;
  /**
   * Works everything that is pending, also what is due later: the queue's clock is moved to the next run time again and again, so that
   * delays take no time. Resolves when nothing is pending.
   *
   * @throws Error after `maxBatches` batches, 1000 unless told: tasks that keep enqueuing each other never end.
   */
  drain(queue: Pick<TaskQueue, "runBatch">, options?: { readonly maxBatches?: number }): Promise<void>;
  /** Moves the queue's clock ahead, in ms. */
  advance(ms: number): void;
  /** Takes every claim away, as if its worker had been silent for longer than its lease. */
  lapseClaims(): void;
  /** Forgets every job that has ended. Its deduplication key stays taken. */
  prune(): void;
}

/**
 * A queue in memory for tests of tasks, with the worker runtime, the fences and the rules of the durable providers. `transaction` is
 * refused: there is none to join.
 *
 * @example
 * const memory = createMemoryTasks();
 * const queue = createTaskQueue({ provider: memory.provider(), tasks: [renderReport] });
 * const jobId = await queue.enqueue(renderReport, { reportId: "r-1" });
 * await memory.drain(queue);
 * expect(await queue.get(jobId)).toMatchObject({ state: "succeeded" });
 */
export function createMemoryTasks(): MemoryTasks {
  const table = new MemoryTable();
  const keys = new Map<string, KeyEntry>();
  const id = crypto.randomUUID();
  return {
    provider: () => createProvider(table, keys, id),
    async drain(queue, { maxBatches = 1000 } = {}) {
      for (let batch = 0; batch < maxBatches; batch += 1) {
        const { nextRunAt } = table;
        if (nextRunAt === undefined) return;
        table.advance(Math.max(0, nextRunAt - table.now()));
        await queue.runBatch({ maxJobs: 100_000 });
      }
      throw new Error(`jobs are still pending after ${maxBatches} batches`);
    },
    advance: (ms) => table.advance(ms),
    lapseClaims: () => table.lapse(),
    prune: () => table.prune(),
  };
}

interface KeyEntry {
  readonly jobId: string;
  readonly intent: string;
}

function createProvider(table: MemoryTable, keys: Map<string, KeyEntry>, id: string): Required<TaskProvider> {
  const workers = new Set<TaskWorker>();
  let closing: Promise<void> | undefined;
  const whileOpen = async <T>(work: () => T): Promise<T> => {
    if (closing) throw new TaskQueueError("closed", "work");
    return work();
  };
  const find = (jobId: string) => {
    const job = table.jobs.get(jobId);
    return job === undefined ? null : statusOf(job);
  };
  return {
    enqueue: (request) => whileOpen(() => enqueueOnce(table, keys, request)),
    get: (jobId) => whileOpen(() => find(jobId)),
    cancel: (jobId) => whileOpen(() => table.cancel(jobId)),
    retry: (jobId) => whileOpen(() => table.retry(jobId)),
    list: (query) => whileOpen(() => pageOf(table, query)),
    identity: () => whileOpen(() => ({ kind: "memory", id })),
    lookupDeduplicationKey: (key) =>
      whileOpen(() => {
        const entry = keys.get(key);
        return entry === undefined ? null : { jobId: entry.jobId, status: find(entry.jobId) };
      }),
    startWorker(execute, options) {
      if (closing) throw new TaskQueueError("closed", "work");
      const worker = runWorker(new MemoryBackend(table), execute, options);
      workers.add(worker);
      const forget = (): void => void workers.delete(worker);
      worker.done.then(forget, forget);
      return worker;
    },
    close() {
      closing ??= Promise.all([...workers].map((worker) => worker.stop())).then(() => undefined);
      return closing;
    },
  };
}

function enqueueOnce(table: MemoryTable, keys: Map<string, KeyEntry>, request: ProviderEnqueue): string {
  const { task, input, transaction, deduplicationKey: key } = request;
  if (transaction !== undefined) throw refusedTransaction();
  const intent = canonicalJsonText([task, input]);
  const entry = key === undefined ? undefined : keys.get(key);
  if (entry !== undefined) {
    if (entry.intent !== intent) throw new TaskQueueError("deduplication-conflict", "enqueue");
    if (!table.jobs.has(entry.jobId)) throw new TaskQueueError("job-expired", "enqueue");
    return entry.jobId;
  }
  const jobId = crypto.randomUUID();
  if (key !== undefined) keys.set(key, { jobId, intent });
  table.insert(jobId, { ...request, input: structuredClone(input) });
  return jobId;
}

function refusedTransaction(): TaskQueueError {
  const cause = new SafeCause("transaction: expected none, since jobs in memory cannot join one");
  return new TaskQueueError("invalid-options", "enqueue", { cause });
}

function pageOf(
  table: MemoryTable,
  {
    tasks,
    limit,
    after = "",
  }: { readonly tasks: readonly string[]; readonly limit: number; readonly after?: string },
): JobPage {
  const rest = [...table.jobs.values()]
    .map(statusOf)
    .filter(({ jobId, task }) => tasks.includes(task) && jobId > after)
    .sort((a, b) => (a.jobId < b.jobId ? -1 : 1))
    .map(({ result: _result, error: _error, ...summary }) => summary);
  const jobs = rest.slice(0, limit);
  return { jobs, next: rest.length > limit ? (jobs.at(-1)?.jobId ?? null) : null };
}
