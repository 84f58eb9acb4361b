import { batchCalls } from "../batch-calls.ts";
import type {
  AttemptOutcome,
  BackendClaim,
  CancelListener,
  PulseAnswer,
  WorkerBackend,
} from "../worker/backend.ts";
import { type JobWithMetadata, settledIds } from "./boss.ts";
import { parsed, type StoredTask } from "./job-row.ts";
import type { Queue, QueueConnection } from "./queue.ts";
import { cancelClaims, completeClaims, endClaim, fenced } from "./settle-claims.ts";

export interface PostgresClaim extends BackendClaim {
  readonly retryCount: number;
}

export interface PostgresBackend extends WorkerBackend<PostgresClaim> {
  /** Ends the wait that is under way, or the next one: a job may be there. */
  wake(): void;
  /** Somebody asked to cancel that job; undefined: any. */
  cancelRequested(jobId: string | undefined): void;
}

/** As many jobs as one statement settles or prolongs. */
const batchSize = 100;

/** The statements behind a worker. Pulses that meet, and completions that meet, share a statement. */
export function createPostgresBackend(
  connection: QueueConnection,
  heartbeatSeconds: number,
): PostgresBackend {
  const asked = new Set<string>(); // claims that a pulse has found to be cancelled
  const cancelListeners = new Set<CancelListener>();
  let wakes = 0;
  let wakesBeforeFetch = 0;
  let wakeWaiter: (() => void) | undefined;
  const wake = (): void => {
    wakes += 1;
    wakeWaiter?.();
  };

  const pulse = batchCalls<PostgresClaim, PulseAnswer>(
    async (claims) => pulseClaims(await connection.ready(), claims),
    batchSize,
  );
  const complete = batchCalls<Parameters<typeof completeClaims>[1][number], "settled" | "lost">(
    async (claims) => completeClaims(await connection.ready(), claims),
    batchSize,
  );

  return {
    leaseMs: heartbeatSeconds * 1_000,
    freshClaimIsProof: true, // fetching leaves out what is to be cancelled
    wake,
    cancelRequested(jobId) {
      for (const tell of cancelListeners) tell(jobId);
    },
    onCancelRequest(listener) {
      cancelListeners.add(listener);
      return () => cancelListeners.delete(listener);
    },
    async fetch(count) {
      const queue = await connection.ready();
      wakesBeforeFetch = wakes;
      for (;;) {
        const { claims, cancelled } = await fetchClaims(queue, count, heartbeatSeconds);
        // Nothing but jobs that were to be cancelled: that does not mean that nothing is due.
        if (claims.length > 0 || cancelled === 0) return claims;
      }
    },
    async pulse(claim) {
      const answer = await pulse(claim);
      if (answer === "cancelled") asked.add(keyOf(claim));
      else asked.delete(keyOf(claim));
      return answer;
    },
    async settle(claim, outcome) {
      const verdict =
        outcome.ok && !asked.has(keyOf(claim))
          ? await complete({ claim, result: outcome.result })
          : await endClaim(await connection.ready(), claim, endingOf(outcome));
      asked.delete(keyOf(claim));
      if (!outcome.ok && !outcome.final) wake(); // it may be due again, and this worker has a slot
      return verdict;
    },
    async giveBack(claim) {
      await endClaim(await connection.ready(), claim, { kind: "given-back" });
      asked.delete(keyOf(claim));
    },
    wait(timeoutMs, signal) {
      return new Promise((resolve) => {
        if (signal.aborted || wakes !== wakesBeforeFetch) return resolve();
        const done = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          wakeWaiter = undefined;
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        signal.addEventListener("abort", done);
        wakeWaiter = done;
      });
    },
  };
}

function endingOf(outcome: AttemptOutcome): Parameters<typeof endClaim>[2] {
  return outcome.ok
    ? { kind: "succeeded", result: outcome.result }
    : {
        kind: "failed",
        error: outcome.error,
        final: outcome.final,
        afterSeconds: outcome.afterSeconds ?? 0,
      };
}

function keyOf(claim: PostgresClaim): string {
  return `${claim.jobId}/${claim.retryCount}`;
}

async function fetchClaims(
  queue: Queue,
  count: number,
  heartbeatSeconds: number,
): Promise<{ readonly claims: readonly PostgresClaim[]; readonly cancelled: number }> {
  const sentAt = performance.now();
  const jobs: JobWithMetadata<unknown>[] = await queue.boss.fetch<unknown>(queue.name, {
    batchSize: count,
    includeMetadata: true,
  });
  if (jobs.length === 0) return { claims: [], cancelled: 0 };
  await holdLongEnough(queue, jobs, heartbeatSeconds);
  const claims = jobs.map((job) => claimOf(job, sentAt));
  // Only a job that has been claimed before can have been asked to stop before this claim.
  const again = claims.filter(({ retryCount }) => retryCount > 0);
  if (again.length === 0) return { claims, cancelled: 0 };
  const asked = await requested(queue, again);
  if (asked.size === 0) return { claims, cancelled: 0 };
  // Lost by a worker that died after it had been asked to stop: they end here, before another attempt.
  await cancelClaims(
    queue,
    claims.filter(({ jobId }) => asked.has(jobId)),
  );
  return { claims: claims.filter(({ jobId }) => !asked.has(jobId)), cancelled: asked.size };
}

/**
 * A job carries the heartbeat of the provider that enqueued it. A shorter one than this worker's would let its claim be taken while the
 * worker believes in it, so it is raised first. A longer one only delays recovery.
 */
async function holdLongEnough(
  { db, name, tables }: Queue,
  jobs: readonly JobWithMetadata<unknown>[],
  heartbeatSeconds: number,
): Promise<void> {
  const short = jobs.filter((job) => (job.heartbeatSeconds ?? heartbeatSeconds) < heartbeatSeconds);
  if (short.length === 0) return;
  await db.executeSql(
    `update ${tables.job} set heartbeat_seconds = $3 where name = $1 and id = any($2::uuid[]) and state = 'active'`,
    [name, short.map(({ id }) => id), heartbeatSeconds],
  );
}

function claimOf(job: JobWithMetadata<unknown>, sentAt: number): PostgresClaim {
  const data = parsed(job.data) as Partial<StoredTask> | null;
  const returned = data?.returned ?? 0;
  return {
    jobId: job.id,
    retryCount: job.retryCount,
    attempt: job.retryCount + 1 - returned,
    maxAttempts: job.retryLimit + 1 - returned,
    // What others have put into the queue may be anything.
    task: typeof data?.task === "string" ? data.task : "",
    input: data?.input ?? null,
    ...(typeof data?.traceparent === "string" ? { traceparent: data.traceparent } : {}),
    sentAt,
    endsAt: sentAt + job.expireInSeconds * 1000,
  };
}

/** Touches first and reads the requests after: one that comes later is met by the next pulse or by the settlement. */
async function pulseClaims(queue: Queue, claims: readonly PostgresClaim[]): Promise<PulseAnswer[]> {
  const held = settledIds(await queue.boss.touch(queue.name, claims.map(fenced)));
  const asked = await requested(queue, claims);
  return claims.map(({ jobId }) => (!held.has(jobId) ? "lost" : asked.has(jobId) ? "cancelled" : "held"));
}

async function requested(
  { db, tables }: Queue,
  claims: readonly PostgresClaim[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.executeSql(
    `select job_id::text as id from ${tables.cancel} where job_id = any($1::uuid[])`,
    [claims.map(({ jobId }) => jobId)],
  );
  return new Set(rows.map((row) => row["id"] as string));
}
