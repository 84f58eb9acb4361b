import { expect } from "bun:test";
import { SQL } from "bun";
import { createTaskQueue } from "../../../tasks/index.ts";
import { type Proxy, startProxy } from "../../faults/support/proxy.ts";
import { until } from "../../postgres/support/observe.ts";
import { entriesOf, expectEachEndedOnce } from "./audit.ts";
import { type Behaviour, behave, faultTasks, openRecorder } from "./fault-tasks.ts";
import { lapseClaims } from "./lapse-claims.ts";
import { openProviders, type ProviderKind, type Providers } from "./open-provider.ts";
import { type StatementGate, statementGate } from "./statement-gate.ts";
import { startWorkerProcess } from "./worker-process.ts";

/** A point in an attempt, and what a death there comes to. */
export interface KillPoint {
  readonly point: string;
  /** What the point is for this provider. */
  readonly here: string;
  /** The statement that the worker is at. Without it: its handler has been entered, or has done its first step. */
  readonly statement?: RegExp;
  /** Whether that statement has only been sent (the default), or has committed and its answer is lost. */
  readonly at?: "sent" | "answered";
  readonly behaviour: Behaviour;
  /** The attempt whose handler the dead worker had entered, and the one that the second worker's handler enters. */
  readonly entered: { readonly dead?: number; readonly second?: number };
  /** The network delivers the dead worker's statement while the second one is at work. */
  readonly deliveredLate?: true;
}

/** Attempts whose worker died, each at its point and with a queue of its own. */
export interface DeadWorkers {
  /** Lets a second worker finish the job of a point, and looks at what has become of it. */
  finish(point: KillPoint): Promise<void>;
  close(): Promise<void>;
}

interface Scene {
  readonly kind: ProviderKind;
  readonly url: string;
  readonly sql: SQL;
  readonly pid: number;
  readonly providers: Providers;
}

/** So long that a slow machine reaches every point within one lease; nobody waits for it to pass. */
const leaseSeconds = 8;

/**
 * Starts a process with a worker for each point, each on a link of its own, waits until every attempt is at its point, and kills the
 * process: one SIGKILL meets all of them.
 */
export async function killAtPoints(
  kind: ProviderKind,
  url: string,
  points: readonly KillPoint[],
): Promise<DeadWorkers> {
  const sql = new SQL(url, { max: 4 });
  const queueOf = (point: KillPoint): string => `point-${points.indexOf(point)}`;
  const providers = await openProviders({
    kind,
    url,
    queues: points.map(queueOf),
    leaseSeconds,
    recordConnections: 4,
  });
  const attempts = await Promise.all(
    points.map(async (point) => {
      const queue = queueOf(point);
      const jobId = await providers.open(queue).enqueue({ task: "many", input: null, maxAttempts: 20 });
      const gate = gateOf(point);
      return { point, queue, jobId, gate, proxy: await startProxy(url, gate?.tapLink) };
    }),
  );
  await using worker = startWorkerProcess({
    kind,
    url,
    workers: attempts.map(({ point: { behaviour }, queue, proxy }) => ({
      queue,
      behaviour,
      proxyUrl: proxy.url,
      leaseSeconds,
      recordConnections: 2,
      // Longer than the producer's, so that pg-boss's has to be raised after the claim.
      ...(kind === "pg-boss" ? { changes: { heartbeatSeconds: 11 } } : {}),
    })),
  });
  await Promise.all(
    attempts.map(({ point: { point, behaviour }, queue, gate }) => {
      if (gate !== undefined) return within(gate.reached, point);
      const step = behaviour.do === "steps" && behaviour.hangAfter === 1 ? "stepped" : "entered";
      return worker.told(step, (event) => event.queue === queue);
    }),
  );
  worker.signal("SIGKILL");
  await worker.exited;
  expect(worker.events.filter(({ event }) => event === "error" || event.startsWith("un"))).toEqual([]);
  await lapseClaims(sql, kind);
  const scene: Scene = { kind, url, sql, pid: worker.pid, providers };
  return {
    finish: (point) => finish(scene, attempts.find((attempt) => attempt.point === point) as Attempt),
    async close() {
      await providers.close();
      await Promise.all(attempts.map(({ proxy }) => proxy.close()));
      await sql.close();
    },
  };
}

interface Attempt {
  readonly point: KillPoint;
  readonly queue: string;
  readonly jobId: string;
  readonly gate: StatementGate | undefined;
  readonly proxy: Proxy;
}

async function finish(scene: Scene, attempt: Attempt): Promise<void> {
  const { kind, url, sql, providers } = scene;
  const { point, jobId, gate, queue: name } = attempt;
  const recorder = openRecorder(url, name);
  const tasks = faultTasks(async (context) => {
    if (point.deliveredLate) {
      const before = await rowOf(scene, jobId);
      await gate?.release();
      expect(await rowOf(scene, jobId)).toEqual(before);
    }
    return behave({ do: "steps" }, context, recorder, () => undefined);
  });
  const queue = createTaskQueue({ provider: providers.open(name), tasks: [tasks.many, tasks.once] });
  try {
    queue.startWorker();
    await until("the job to succeed", async () => (await queue.get(jobId))?.state === "succeeded");
    const { dead, second } = point.entered;
    const entries = [
      ...(dead === undefined ? [] : [{ attempt: dead, pid: scene.pid }]),
      ...(second === undefined ? [] : [{ attempt: second, pid: process.pid }]),
    ];
    expect(await entriesOf(sql, jobId)).toEqual(entries);
    expect(await queue.get(jobId)).toMatchObject({
      state: "succeeded",
      attempt: entries.at(-1)?.attempt,
      maxAttempts: 20,
      result: entries.at(-1)?.pid,
      error: null,
    });
    if (kind === "lenso.jobs@1") await untilCarrierEnded(sql, jobId);
    await expectEachEndedOnce(sql, name, 1);
  } finally {
    await queue.close();
    await recorder.close();
  }
}

function gateOf({ statement, at = "sent", deliveredLate }: KillPoint): StatementGate | undefined {
  return statement && statementGate({ statement, at, outliveClient: deliveredLate === true });
}

/** Everything that is stored of a job and that a stale attempt could change. */
async function rowOf({ kind, sql }: Scene, jobId: string): Promise<unknown> {
  return kind === "pg-boss"
    ? await sql`select state, retry_count, started_on::text, heartbeat_on::text, output, completed_on from pgboss.job where id = ${jobId}::uuid`
    : await sql`select state, dispatch, job_id, delivery, attempt, lease_until::text, settled_by, result from tasks.task where id = ${jobId}::uuid`;
}

/** The Jobs job that carried the task has ended as well: nothing is left to be delivered. */
async function untilCarrierEnded(sql: SQL, jobId: string): Promise<void> {
  await until("the Jobs job to end", async () => {
    const [row] = await sql`
      select count(*)::int as open from jobs.jobs j
      where j.payload->>'record' = ${jobId} and not exists (select from jobs.outcome o where o.id = j.id)`;
    return row.open === 0;
  });
}

async function within(reached: Promise<void>, point: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no attempt reached the point "${point}"`)), 20_000);
  await Promise.race([reached, late.promise]).finally(() => clearTimeout(timer));
}
