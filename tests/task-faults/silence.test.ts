import { expect, test } from "bun:test";
import { SQL } from "bun";
import { createTaskQueue, type TaskQueue } from "../../tasks/index.ts";
import { startProxy } from "../faults/support/proxy.ts";
import { afterTestFile } from "../support/after-test-file.ts";
import { entriesOf, statesOf } from "./support/audit.ts";
import { eventually } from "./support/eventually.ts";
import { faultDatabase } from "./support/fault-database.ts";
import { behave, type FaultTasks, faultTasks, openRecorder } from "./support/fault-tasks.ts";
import { lapseClaims } from "./support/lapse-claims.ts";
import { listenerTap } from "./support/listener-tap.ts";
import { openProviders, type ProviderKind, type Providers, providerKinds } from "./support/open-provider.ts";
import { startWorkerProcess } from "./support/worker-process.ts";

// Most of the time of these tests is waiting for a limit to pass, so they all wait together.

const url = await faultDatabase();
const sql = new SQL(url, { max: 4 });
const queues = ["stalled", "deaf", "blocked", "cancel-0", "cancel-1"];
const near = {} as Record<ProviderKind, Providers>;
for (const kind of providerKinds) near[kind] = await openProviders({ kind, url, queues, frugal: true });
afterTestFile(async () => {
  for (const kind of providerKinds) await near[kind].close();
  await sql.close();
});

const recorder = openRecorder(url, "blocked");
afterTestFile(() => recorder.close());
const tasks = faultTasks((context) => behave({ do: "steps" }, context, recorder, () => undefined));

/** A queue of this process, next to the database. */
function nearQueue(kind: ProviderKind, name: string): TaskQueue<FaultTasks[keyof FaultTasks]> {
  return createTaskQueue({ provider: near[kind].open(name), tasks: [tasks.many, tasks.once] });
}

const isUnhandled = ({ event }: { event: string }): boolean => event.startsWith("un");

async function succeeded(ids: readonly string[], queue: Pick<TaskQueue, "get">): Promise<boolean> {
  const all = await Promise.all(ids.map((jobId) => queue.get(jobId)));
  return all.every((status) => status?.state === "succeeded");
}

test.concurrent.each(providerKinds)(
  "%s: on a link that falls silent every call ends, and the worker goes on over new connections",
  async (kind) => {
    await using proxy = await startProxy(url);
    const queue = nearQueue(kind, "stalled");
    await using far = await openProviders({ kind, url: proxy.url, queues });
    const producer = createTaskQueue({ provider: far.open("stalled"), tasks: [tasks.many, tasks.once] });
    await using worker = startWorkerProcess({
      kind,
      url,
      workers: [
        {
          queue: "stalled",
          proxyUrl: proxy.url,
          behaviour: { do: "work", ms: 5 },
          concurrency: 4,
          quiet: true,
        },
      ],
    });
    const ids = [await queue.enqueue(tasks.many, null)];
    await eventually("the first job", () => succeeded(ids, queue));
    proxy.mode = "stall";
    const refused = producer.enqueue(tasks.many, null, { deduplicationKey: "meanwhile" }).then(
      () => "answered",
      (error: { code?: string }) => error.code,
    );
    for (let n = 0; n < 10; n += 1) ids.push(await queue.enqueue(tasks.many, n));
    await worker.told("error", () => true);
    proxy.mode = "forward"; // what was sent meanwhile is lost: only new connections can work
    await eventually(
      "the worker to go on",
      async () => {
        if (kind === "pg-boss") await lapseClaims(sql, kind, "stalled"); // a claim whose answer was lost is held for ten seconds
        await Bun.sleep(200);
        return succeeded(ids, queue);
      },
      60_000,
    );
    expect(await refused).toBe("provider-unavailable");
    expect(worker.events.filter(isUnhandled)).toEqual([]);
    const ends = await sql`select job from fault.change where became = 'succeeded' and job in ${sql(ids)}`;
    expect(ends).toHaveLength(ids.length);
    await queue.close();
  },
  120_000,
);

test.concurrent.each(providerKinds)(
  "%s: a listener that falls silent does not make the worker deaf, and on pg-boss it is replaced",
  async (kind) => {
    const listener = listenerTap();
    await using proxy = await startProxy(url, listener.tapLink);
    const queue = nearQueue(kind, "deaf");
    await using worker = startWorkerProcess({
      kind,
      url,
      workers: [
        {
          queue: "deaf",
          proxyUrl: proxy.url,
          behaviour: { do: "steps" },
          frugal: true,
          // Nothing else may wake it: its poll would come too late.
          changes: {
            pollIntervalMs: 60_000,
            ...(kind === "pg-boss" ? { superviseIntervalSeconds: 3600 } : {}),
          },
        },
      ],
    });
    const enter = async (limitMs: number): Promise<void> => {
      const jobId = await queue.enqueue(tasks.many, null);
      await worker.told("entered", (event) => event.jobId === jobId, limitMs);
      await eventually("the job", () => succeeded([jobId], queue));
    };
    await enter(60_000);
    await eventually("a listener", async () => listener.silence() > 0);
    await enter(40_000);
    if (kind === "pg-boss")
      expect((await worker.told("error")).message).toContain("the listener is not answered");
    await enter(20_000);
    await queue.close();
  },
  120_000,
);

test.concurrent.each([
  ["lenso.jobs@1", 8000],
  ["pg-boss", 10_500],
] as const)(
  "%s: a worker whose event loop was blocked for longer than its lease says so, and its result changes nothing",
  async (kind, ms) => {
    const queue = nearQueue(kind, "blocked");
    const jobId = await queue.enqueue(tasks.many, null);
    await using blocked = startWorkerProcess({
      kind,
      url,
      workers: [{ queue: "blocked", behaviour: { do: "block", ms }, leaseSeconds: 2, frugal: true }],
    });
    await blocked.told("entered");
    if (kind === "pg-boss") await lapseClaims(sql, kind, "blocked"); // its lease of ten seconds is long enough to be blocked for
    const second = queue.startWorker();
    await eventually("the job to succeed elsewhere", () => succeeded([jobId], queue));
    await blocked.told("error", ({ message }) =>
      /event loop blocked \d+\.\d s; lease lost/.test(message ?? ""),
    );
    await second.stop();
    expect(await entriesOf(sql, jobId)).toEqual([
      { attempt: 1, pid: blocked.pid },
      { attempt: 2, pid: process.pid },
    ]);
    const states = await statesOf(sql, jobId);
    expect(states.indexOf("succeeded")).toBe(states.length - 1);
    // The worker has its senses back: it works the next job.
    const next = await queue.enqueue(tasks.many, null);
    await blocked.told("entered", (event) => event.jobId === next);
    await queue.close();
  },
  120_000,
);

test.concurrent.each(providerKinds)(
  "%s: a cancelled job's handler is told within one lease, with wake-ups and without, and the worker takes the next job",
  async (kind) => {
    const leaseSeconds = kind === "pg-boss" ? 10 : 6;
    const names = kind === "pg-boss" ? ["cancel-1"] : ["cancel-0", "cancel-1"];
    await using worker = startWorkerProcess({
      kind,
      url,
      workers: names.map((queue) => ({
        queue,
        behaviour: { do: "work", ms: 60_000 },
        signals: queue === "cancel-1",
        leaseSeconds,
        frugal: true,
      })),
    });
    await Promise.all(
      names.map(async (name) => {
        const queue = nearQueue(kind, name);
        const [jobId, next] = [await queue.enqueue(tasks.many, null), await queue.enqueue(tasks.many, null)];
        await worker.told("entered", (event) => event.jobId === jobId);
        const asked = performance.now();
        expect(await queue.cancel(jobId)).toBe("requested");
        const { reason } = await worker.told("aborted", (event) => event.jobId === jobId);
        expect(performance.now() - asked).toBeLessThan(leaseSeconds * 1000);
        expect(reason).toContain("JobCancelled");
        await eventually(
          "the job to be cancelled",
          async () => (await queue.get(jobId))?.state === "cancelled",
        );
        await worker.told("entered", (event) => event.jobId === next);
        await queue.close();
      }),
    );
  },
  120_000,
);
