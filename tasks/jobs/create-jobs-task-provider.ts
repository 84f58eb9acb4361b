import { databaseClock } from "../../plugin/store/sql-context.ts";
import { placeOf } from "../advise-on-database.ts";
import type { TaskProvider, TaskWorker } from "../provider.ts";
import { type TaskErrorPhase, TaskQueueError } from "../task-queue-error.ts";
import { runWorker } from "../worker/run-worker.ts";
import { asQueueError } from "./as-queue-error.ts";
import { isRecordId } from "./carrier-job.ts";
import { ChannelWatch } from "./channel-watch.ts";
import { CommitWatch } from "./commit-watch.ts";
import { dispatchRecord } from "./dispatch-record.ts";
import { enqueueTask, type Joining } from "./enqueue-task.ts";
import { findHomeOf } from "./find-home.ts";
import { taskSchema } from "./migration/schema-owner.ts";
import { SchemaUnfit, verifySchema } from "./migration/verify-schema.ts";
import { openJobsQueue, queryBy } from "./open-jobs-queue.ts";
import { checkProviderOptions, databaseOf, type JobsTaskProviderOptions } from "./options.ts";
import { proveProducer, proveRoles, proveUntilAnswered } from "./prove-roles.ts";
import { findKey } from "./records/find-key.ts";
import { listTasks } from "./records/list-tasks.ts";
import { queueIdentity } from "./records/queue-identity.ts";
import { readTask } from "./records/read-task.ts";
import { RecordDatabase } from "./records/record-database.ts";
import { cancelChannel, requestCancel } from "./records/request-cancel.ts";
import { retryTask } from "./records/retry-task.ts";
import { succeedOnce } from "./succeed-once.ts";
import { sweepRecords } from "./sweep-records.ts";
import { Sweeper } from "./sweeper.ts";
import { JobsWorkerBackend } from "./worker-backend.ts";

/**
 * Tasks on a bound `lenso.jobs@1`: the record of each task is kept in a schema made by `migrateJobsTaskQueue`, in the same database as
 * the jobs or in another; the Jobs capability only carries it to a worker.
 *
 * `transaction` of an enqueue is the caller's open transaction on the record's database: a kysely `Transaction`, the `tx` of drizzle
 * (on node-postgres or `Bun.SQL`), a `pg` client between BEGIN and COMMIT, or the `tx` of `Bun.SQL`. Task and deduplication key come and
 * go with it, savepoints included, and so with the caller's own rows; the carrying job is enqueued after the commit, by this process
 * within milliseconds or by the sweep of any worker. A refused enqueue (a conflict, an expired key) leaves the transaction usable. Nothing
 * is ever sent on another connection instead; one on another database is refused. Starts nothing and connects to nothing yet.
 *
 * A schema that is missing, and a role or a queue that the Jobs Instance does not have, are `invalid-options` of calls and of a worker's
 * `done`. Without a deduplication key nothing stays recorded of an enqueue that is refused so. An outage of Jobs refuses nothing.
 *
 * @throws TaskQueueError `invalid-options`; `cause` names the key.
 * @example
 * const provider = createJobsTaskProvider({
 *   jobs: createJobsClient(context.handle("jobs")),
 *   queue: "reports",
 *   leaseSeconds: 30,
 *   connectionString: databaseUrl,
 * });
 */
export function createJobsTaskProvider(options: JobsTaskProviderOptions): TaskProvider {
  return createProviderWith({ clock: databaseClock }, options);
}

/** @internal The same with another clock in the record's statements, for tests that move time. */
export function createProviderWith(
  engine: { readonly clock: string },
  options: JobsTaskProviderOptions,
): TaskProvider {
  const checked = checkProviderOptions(options);
  const database = new RecordDatabase(databaseOf(checked));
  const queue = openJobsQueue(checked, database, engine.clock);
  const { records } = queue;
  // Handlers may hold every connection of a borrowed pool, while their claims have to be renewed. Our own are held by nobody for long.
  const beside = checked.pool === undefined ? undefined : new RecordDatabase({ beside: checked.pool });
  const ofWorkers = beside === undefined ? queue : queryBy(beside, queue);
  const sweepOptions = {
    dispatchAgainSeconds: checked.sweepIntervalSeconds,
    retentionSeconds: checked.retentionSeconds,
  };
  const sweepMs = checked.sweepIntervalSeconds * 1000;
  const sweeper = new Sweeper(() => sweepRecords(ofWorkers, sweepOptions), queue.trouble, sweepMs);
  const commits = new CommitWatch(queue);
  const cancels = new ChannelWatch(beside ?? database, queue.trouble, cancelChannel);
  // Beside a borrowed pool, since callers' transactions may hold all of that one and wait for this.
  const verified = succeedOnce(() => verifySchema(beside ?? database, taskSchema, checked.schema));
  const proven = succeedOnce(() => proveRoles(checked.jobs));
  const joining: Joining = {
    findHome: findHomeOf(ofWorkers.records),
    proveProducer: proveUntilAnswered(() => proveProducer(checked.jobs, "enqueue")),
    afterCommit: commits.watch,
  };
  const place = placeOf(checked.connectionString);
  const workers = new Set<TaskWorker>();
  const calls = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  /** Runs a call on a verified schema; `close` waits for it. */
  const run = async <T>(phase: TaskErrorPhase, work: () => Promise<T>): Promise<T> => {
    if (closing) throw new TaskQueueError("closed", phase);
    const call = verified()
      .then(work)
      .catch((cause: unknown) => {
        throw asQueueError(cause, phase, place);
      });
    calls.add(call);
    return call.finally(() => calls.delete(call));
  };

  return {
    enqueue: (request) => run("enqueue", () => enqueueTask(queue, request, joining)),
    get: (jobId) =>
      run("get", async () => (isRecordId(jobId) ? await readTask(records, jobId) : undefined) ?? null),
    cancel: (jobId) =>
      run("cancel", async () => {
        const outcome = isRecordId(jobId) ? await requestCancel(records, jobId) : "missing";
        if (outcome === "requested") cancels.tell(jobId);
        return outcome;
      }),
    retry: (jobId) =>
      run("retry", async () => {
        const dispatch = isRecordId(jobId) ? await retryTask(records, jobId) : undefined;
        if (dispatch !== undefined) await dispatchRecord(queue, dispatch);
        return dispatch !== undefined;
      }),
    list: ({ tasks, limit, after }) =>
      run("list", async () => {
        const jobs = await listTasks(records, { tasks, limit: limit + 1, after });
        const page = jobs.slice(0, limit);
        return { jobs: page, next: jobs.length > limit ? (page.at(-1)?.jobId ?? null) : null };
      }),
    identity: () => run("identity", async () => ({ kind: "lenso.jobs@1", id: await queueIdentity(records) })),
    lookupDeduplicationKey: (key) =>
      run("lookup", async () => {
        const found = await findKey(records, key);
        if (found === undefined) return null;
        return { jobId: found.taskId, status: (await readTask(records, found.taskId)) ?? null };
      }),
    startWorker(execute, workerOptions) {
      if (closing) throw new TaskQueueError("closed", "work");
      const swept = succeedOnce(() => sweeper.sweep());
      const backend = new JobsWorkerBackend(ofWorkers, {
        signals: checked.signals,
        pollIntervalMs: checked.pollIntervalMs,
        watchCancelRequests: cancels.watch,
        async ready() {
          // The schema first: where it is missing, an outage of Jobs must not hide that no waiting helps.
          await verified().catch((error: unknown) => {
            throw error instanceof SchemaUnfit ? asQueueError(error, "work", place) : error;
          });
          await proven();
          await swept(); // so that a batch finds what was recorded and not dispatched
        },
      });
      sweeper.join();
      const worker = runWorker(backend, execute, {
        ...workerOptions,
        // A wait on signals looks by itself; the backend falls back to the interval when they fail.
        pollIntervalMs: checked.signals === undefined ? checked.pollIntervalMs : signalledPollMs,
        onError: (error) => checked.onError?.(error),
      });
      workers.add(worker);
      void worker.done
        .catch(() => undefined)
        .then(() => {
          workers.delete(worker);
          sweeper.leave();
        });
      return worker;
    },
    close() {
      closing ??= (async () => {
        await Promise.all([...workers].map((worker) => worker.stop()));
        await Promise.allSettled(calls);
        await commits.close();
        await Promise.all([sweeper.close(), cancels.close()]);
        await Promise.all([database.close(), beside?.close()]);
      })();
      return closing;
    },
  };
}

/** How long a worker waits on signals before it looks by itself, in ms. */
const signalledPollMs = 15_000;
