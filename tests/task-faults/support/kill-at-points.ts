import { expect } from "bun:test";
import { SQL } from "bun";
import { createTaskQueue } from "../../../tasks/index.ts";
import { type Proxy, startProxy } from "../../faults/support/proxy.ts";
import { entriesOf, expectEachEndedOnce } from "./audit.ts";
import { eventually } from "./eventually.ts";
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
  /** The worker has to live for a third of a lease to get there. */
  readonly pulses?: true;
  /** The attempt whose handler the dead worker had entered, and the one that the second worker's handler enters. */
  readonly entered: { readonly dead?: number; readonly second?: number };
  /** The network delivers the dead worker's statement while the second one is at work: how the server says that it changed nothing. */
  readonly refusedLate?: RegExp;
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
  readonly providers: Providers;
}

/** So long that no machine is too slow to reach a point within one lease; nobody waits for it to pass. */
const longLease = 120;
/** A pulse comes after a third of it. The shortest that pg-boss takes, and a second more than its producers ask for. */
const pulsedLease = 11;

/**
 * Starts a process with a worker for each point, each on a link of its own, waits until every attempt is at its point, and kills the
 * process: one SIGKILL meets all of them. Where a pulse is the point, time has to pass, so such a worker has a process to itself.
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
    leaseSeconds: longLease,
    frugal: true,
  });
  const attempts = await Promise.all(
    points.map(async (point) => {
      const queue = queueOf(point);
      const jobId = await providers.open(queue).enqueue({ task: "many", input: null, maxAttempts: 20 });
      const gate = gateOf(point);
      return { point, queue, jobId, gate, proxy: await startProxy(url, gate?.tapLink) };
    }),
  );
  const [pulsed = [], others = []] = [true, false].map((pulses) =>
    attempts.filter(({ point }) => (point.pulses === true) === pulses),
  );
  const [pulsedPid, othersPid] = await Promise.all([
    killWhenReached(kind, url, pulsed, pulsedLease),
    killWhenReached(kind, url, others, longLease),
  ]);
  await lapseClaims(sql, kind);
  const scene: Scene = { kind, url, sql, providers };
  return {
    async finish(point) {
      const attempt = attempts.find((each) => each.point === point) as Attempt;
      await finish(scene, attempt, point.pulses ? pulsedPid : othersPid);
    },
    async close() {
      await providers.close();
      await Promise.all(attempts.map(({ proxy }) => proxy.close()));
      await sql.close();
    },
  };
}

/** Answers the id of the process that was killed. */
async function killWhenReached(
  kind: ProviderKind,
  url: string,
  attempts: readonly Attempt[],
  leaseSeconds: number,
): Promise<number> {
  await using worker = startWorkerProcess({
    kind,
    url,
    workers: attempts.map(({ point: { behaviour }, queue, proxy }) => ({
      queue,
      behaviour,
      proxyUrl: proxy.url,
      leaseSeconds,
      frugal: true,
      // Longer than the producer's, so that pg-boss's has to be raised after the claim.
      ...(kind === "pg-boss" ? { changes: { heartbeatSeconds: leaseSeconds } } : {}),
    })),
  });
  await Promise.all(
    attempts.map(async ({ point: { point, behaviour, pulses }, queue, gate }) => {
      const step = behaviour.do === "steps" && behaviour.hangAfter === 1 ? "stepped" : "entered";
      if (gate === undefined || pulses)
        await worker.told(step, (event) => event.queue === queue, reachedWithinMs);
      gate?.arm();
      if (gate) await within(gate.reached, point);
    }),
  );
  worker.signal("SIGKILL");
  await worker.exited;
  expect(worker.events.filter(({ attempt = 1 }) => attempt > 1)).toEqual([]); // every attempt is still its first
  expect(worker.events.filter(({ event }) => event.startsWith("un"))).toEqual([]);
  return worker.pid;
}

const reachedWithinMs = 45_000;

interface Attempt {
  readonly point: KillPoint;
  readonly queue: string;
  readonly jobId: string;
  readonly gate: StatementGate | undefined;
  readonly proxy: Proxy;
}

async function finish(scene: Scene, attempt: Attempt, deadPid: number): Promise<void> {
  const { kind, url, sql, providers } = scene;
  const { point, jobId, gate, queue: name } = attempt;
  const recorder = openRecorder(url, name);
  const tasks = faultTasks(async (context) => {
    if (point.refusedLate && gate) {
      const before = await rowOf(scene, jobId);
      expect(await gate.release()).toMatch(point.refusedLate);
      expect(await rowOf(scene, jobId)).toEqual(before);
    }
    return behave({ do: "steps" }, context, recorder, () => undefined);
  });
  const queue = createTaskQueue({ provider: providers.open(name), tasks: [tasks.many, tasks.once] });
  try {
    queue.startWorker();
    await eventually("the job to succeed", async () => (await queue.get(jobId))?.state === "succeeded");
    const { dead, second } = point.entered;
    const entries = [
      ...(dead === undefined ? [] : [{ attempt: dead, pid: deadPid }]),
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

function gateOf({ statement, at = "sent", refusedLate, pulses }: KillPoint): StatementGate | undefined {
  return (
    statement &&
    statementGate({ statement, at, outliveClient: refusedLate !== undefined, armed: pulses !== true })
  );
}

/** What a stale attempt could change of a job. Leases are left out: the second worker, too, prolongs its own. */
async function rowOf({ kind, sql }: Scene, jobId: string): Promise<unknown> {
  return kind === "pg-boss"
    ? await sql`select state, retry_count, started_on::text, output, completed_on from pgboss.job where id = ${jobId}::uuid`
    : await sql`select state, dispatch, job_id, delivery, attempt, settled_by, result from tasks.task where id = ${jobId}::uuid`;
}

/** The Jobs job that carried the task has ended as well: nothing is left to be delivered. */
async function untilCarrierEnded(sql: SQL, jobId: string): Promise<void> {
  await eventually("the Jobs job to end", async () => {
    const [row] = await sql`
      select count(*)::int as open from jobs.jobs j
      where j.payload->>'record' = ${jobId} and not exists (select from jobs.outcome o where o.id = j.id)`;
    return row.open === 0;
  });
}

async function within(reached: Promise<void>, point: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no attempt reached the point "${point}"`)),
    reachedWithinMs,
  );
  await Promise.race([reached, late.promise]).finally(() => clearTimeout(timer));
}
