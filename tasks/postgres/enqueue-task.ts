import { createHash } from "node:crypto";
import { canonicalJsonText } from "../json-value.ts";
import { newJobId } from "../new-job-id.ts";
import type { ProviderEnqueue } from "../provider.ts";
import { longestDelaySeconds } from "../retry-delay.ts";
import { SafeCause, TaskQueueError } from "../task-queue-error.ts";
import { callerTransaction } from "./caller-transaction.ts";
import type { SqlRunner } from "./database.ts";
import { insertJobs, type NewJob } from "./insert-jobs.ts";
import type { StoredTask } from "./job-row.ts";
import type { Queue } from "./queue.ts";
import { refuseOtherDatabase } from "./refuse-other-database.ts";

/** A job that has not run is work, not history: pg-boss keeps it for the longest time it knows (68 years). */
const neverPruned = 2_147_483_647;

/** How long an enqueue waits for an open transaction that is taking the same key, in ms. Then it is `provider-unavailable`: ask again. */
const keyTimeoutMs = 10_000;

/**
 * Records a job and returns its id. With a key: the first id for the same task and input. In the caller's transaction both the job
 * and its key come and go with it.
 */
export async function enqueueTask(queue: Queue, request: ProviderEnqueue): Promise<string> {
  checkRequest(request);
  if (request.transaction !== undefined) {
    const caller = callerTransaction(request.transaction);
    await refuseOtherDatabase(queue, caller, request.transaction as object);
    return enqueueIn(queue, caller, request);
  }
  if (request.deduplicationKey === undefined) {
    const job = newJob(queue, request, newJobId());
    const inserted = await queue.insert(job);
    if (inserted.status === "rejected") throw inserted.reason;
    return job.id;
  }
  return queue.takeKey(() =>
    queue.db.transaction(async (transaction) => {
      await transaction.executeSql(`set local lock_timeout = '${keyTimeoutMs}ms'`);
      return enqueueIn(queue, transaction, request);
    }),
  );
}

async function enqueueIn(queue: Queue, runner: SqlRunner, request: ProviderEnqueue): Promise<string> {
  const id = newJobId();
  const { deduplicationKey: key } = request;
  if (key !== undefined) {
    const first = await takeKey(queue, runner, key, id, request);
    if (first !== id) return first;
  }
  await insertJobs(queue.boss, queue.name, [newJob(queue, request, id)], runner);
  return id;
}

/** The id that the key belongs to from now on: ours when it was free. Waits for others that are taking the same key. */
async function takeKey(
  { tables, name }: Queue,
  runner: SqlRunner,
  key: string,
  id: string,
  request: ProviderEnqueue,
): Promise<string> {
  const digest = createHash("sha256")
    .update(`${request.task}\n${canonicalJsonText(request.input)}`)
    .digest("hex");
  const { rows: taken } = await runner.executeSql(
    `insert into ${tables.key} (queue, key, job_id, digest) values ($1, $2, $3::uuid, $4)
     on conflict (queue, key) do nothing returning job_id`,
    [name, key, id, digest],
  );
  if (taken.length > 0) return id;
  const { rows } = await runner.executeSql(
    `select k.job_id::text as id, k.digest, exists (
       select from ${tables.job} j where j.name = k.queue and j.id = k.job_id
     ) as kept from ${tables.key} k where k.queue = $1 and k.key = $2`,
    [name, key],
  );
  const first = rows[0];
  if (first === undefined) throw new Error("a deduplication key vanished"); // they are never deleted
  if (first["kept"] !== true) throw new TaskQueueError("job-expired", "enqueue");
  if (first["digest"] !== digest) throw new TaskQueueError("deduplication-conflict", "enqueue");
  return first["id"] as string;
}

function newJob({ settings }: Queue, request: ProviderEnqueue, id: string): NewJob {
  const { retry, runAt } = request;
  const data: StoredTask = {
    task: request.task,
    input: request.input,
    maxAttempts: request.maxAttempts,
    ...(request.traceparent === undefined ? {} : { traceparent: request.traceparent }),
  };
  return {
    id,
    data,
    retryLimit: request.maxAttempts - 1,
    retryDelay: retry?.delaySeconds ?? 0,
    retryBackoff: retry?.backoff ?? false,
    ...(retry?.backoff ? { retryDelayMax: retry.maxDelaySeconds ?? longestDelaySeconds } : {}),
    ...(runAt === undefined || isFarPast(runAt) ? {} : { startAfter: runAt.toISOString() }),
    expireInSeconds: settings.expireInSeconds,
    heartbeatSeconds: settings.heartbeatSeconds,
    deleteAfterSeconds: settings.retentionSeconds,
    retentionSeconds: neverPruned,
  };
}

/** pg-boss reckons its retention from the run time, so one of long ago would be pruned before it ran. */
function isFarPast(runAt: Date): boolean {
  return runAt.getTime() < Date.now() - 86_400_000;
}

function checkRequest({ runAt }: ProviderEnqueue): void {
  if (runAt === undefined || runAt.getUTCFullYear() <= 9_999) return;
  const cause = new SafeCause("runAt: expected a year up to 9999");
  throw new TaskQueueError("invalid-options", "enqueue", { cause });
}
