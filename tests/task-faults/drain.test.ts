import { expect, test } from "bun:test";
import { SQL } from "bun";
import { createTaskQueue, type TaskQueue } from "../../tasks/index.ts";
import { afterTestFile } from "../support/after-test-file.ts";
import { auditQueue, entriesOf, expectEachEndedOnce, statesOf } from "./support/audit.ts";
import { eventually } from "./support/eventually.ts";
import { faultDatabase } from "./support/fault-database.ts";
import { type FaultTasks, faultTasks, gateLock } from "./support/fault-tasks.ts";
import { lapseClaims } from "./support/lapse-claims.ts";
import { openProviders, type ProviderKind, type Providers, providerKinds } from "./support/open-provider.ts";
import { startWorkerProcess, type WorkerProcess } from "./support/worker-process.ts";

const url = await faultDatabase();
const sql = new SQL(url, { max: 4 });
const queueOf = (kind: ProviderKind, what: string): string => `${what}-${providerKinds.indexOf(kind)}`;
const queues = ["load", "idle", "long", "deaf", "loose"].flatMap((what) =>
  providerKinds.map((kind) => queueOf(kind, what)),
);
const near = {} as Record<ProviderKind, Providers>;
for (const kind of providerKinds) near[kind] = await openProviders({ kind, url, queues, frugal: true });
afterTestFile(async () => {
  for (const kind of providerKinds) await near[kind].close();
  await sql.close();
});

const tasks = faultTasks(async () => "elsewhere");

/** A queue of this process. Its handlers are quick. */
function nearQueue(kind: ProviderKind, name: string): TaskQueue<FaultTasks[keyof FaultTasks]> {
  const queue = createTaskQueue({ provider: near[kind].open(name), tasks: [tasks.many, tasks.once] });
  return queue;
}

/** Tells a process to stop and waits until it has ended by itself, without an error that nobody caught. */
async function ends(worker: WorkerProcess): Promise<void> {
  worker.signal("SIGTERM");
  expect(await worker.exited).toBe(0);
  expect(worker.events.filter(({ event }) => event.startsWith("un"))).toEqual([]);
  expect(worker.events.some(({ event }) => event === "closed")).toBe(true);
}

test.concurrent.each(providerKinds)(
  "%s: SIGTERM under load settles or gives back everything that was claimed, fails nothing, and another worker does the rest",
  async (kind) => {
    const name = queueOf(kind, "load");
    const queue = nearQueue(kind, name);
    const ids = await Promise.all(Array.from({ length: 80 }, (_, n) => queue.enqueue(tasks.once, n)));
    const options = {
      queue: name,
      behaviour: { do: "work", ms: 150 },
      concurrency: 6,
      leaseSeconds: 60,
      frugal: true,
    } as const;
    for (let deploy = 0; deploy < 2; deploy += 1) {
      await using worker = startWorkerProcess({ kind, url, drainMs: 15_000, workers: [options] });
      await worker.told("left");
      await ends(worker);
      const { last } = await auditQueue(sql, name);
      expect(Object.keys(last).sort()).toEqual(["pending", "succeeded"]);
      const entered = worker.events.filter(({ event }) => event === "entered").length;
      expect(worker.events.filter(({ event }) => event === "left")).toHaveLength(entered);
      expect(worker.events.filter(({ event }) => event === "error")).toEqual([]);
    }
    await queue.runBatch({ concurrency: 10 });
    await queue.close();
    await expectEachEndedOnce(sql, name, ids.length);
    const [row] = await sql`
      select count(*)::int as twice from (select job from fault.step where queue = ${name} and step = 0 group by job having count(*) > 1) as t`;
    expect(row).toEqual({ twice: 0 }); // one attempt is all that they have
  },
  120_000,
);

test.concurrent.each(providerKinds)(
  "%s: a process whose worker is idle, or was stopped while it started, ends by itself",
  async (kind) => {
    const workers = [
      { queue: queueOf(kind, "idle"), behaviour: { do: "steps" }, leaseSeconds: 60, frugal: true },
    ] as const;
    await using early = startWorkerProcess({ kind, url, workers });
    await early.told("started");
    await ends(early);
    await using idle = startWorkerProcess({ kind, url, workers });
    const queue = nearQueue(kind, queueOf(kind, "idle"));
    const jobId = await queue.enqueue(tasks.many, null);
    await idle.told("left", (event) => event.jobId === jobId);
    await eventually("its end to be recorded", async () => (await queue.get(jobId))?.state === "succeeded");
    await ends(idle);
    await queue.close();
  },
  120_000,
);

test.concurrent.each(providerKinds)(
  "%s: a handler that outlives the drain is aborted, and its job is due elsewhere at once",
  async (kind) => {
    const name = queueOf(kind, "long");
    const queue = nearQueue(kind, name);
    const jobId = await queue.enqueue(tasks.many, null);
    const workers = [
      { queue: name, behaviour: { do: "work", ms: 60_000 }, leaseSeconds: 60, frugal: true },
    ] as const;
    await using worker = startWorkerProcess({ kind, url, drainMs: 300, workers });
    await worker.told("entered");
    await ends(worker);
    expect(worker.events.find(({ event }) => event === "aborted")).toMatchObject({
      reason: expect.stringContaining("WorkerStopping"),
    });
    expect(await queue.get(jobId)).toMatchObject({ state: "pending", attempt: 1, error: "aborted" });
    await queue.runBatch();
    expect(await queue.get(jobId)).toMatchObject({ state: "succeeded", attempt: 2, result: "elsewhere" });
    await queue.close();
    await expectEachEndedOnce(sql, name, 1);
  },
  120_000,
);

test("a handler that ignores its signal is reported and left; its job runs elsewhere, and what it does late changes nothing", async () => {
  await using holder = new SQL(url, { max: 1 });
  const gate = await holder.reserve();
  await gate`select pg_advisory_lock(${gateLock})`;
  const runs = await Promise.all(
    providerKinds.map(async (kind) => {
      const name = queueOf(kind, "deaf");
      const queue = nearQueue(kind, name);
      const jobId = await queue.enqueue(tasks.many, null);
      const workers = [
        { queue: name, behaviour: { do: "ignore the signal" }, leaseSeconds: 3, frugal: true },
      ] as const;
      const worker = startWorkerProcess({ kind, url, drainMs: 100, workers });
      await worker.told("entered");
      worker.signal("SIGTERM");
      await worker.told("aborted");
      await worker.told("error", ({ message }) => message?.startsWith("HandlerLeft") === true);
      await worker.told("queue closed");
      if (kind === "pg-boss") await lapseClaims(sql, kind, name);
      const second = queue.startWorker();
      await eventually(
        "the job to run elsewhere",
        async () => (await queue.get(jobId))?.state === "succeeded",
      );
      await second.stop();
      return { kind, queue, jobId, worker };
    }),
  );
  await gate`select pg_advisory_unlock(${gateLock})`;
  await gate.release();
  for (const { queue, jobId, worker } of runs) {
    expect(await worker.exited).toBe(0); // the handler has ended, and the process with it
    expect(worker.events.some(({ event }) => event === "left")).toBe(true);
    expect(await queue.get(jobId)).toMatchObject({ state: "succeeded", attempt: 2, result: "elsewhere" });
    expect(await entriesOf(sql, jobId)).toEqual([{ attempt: 1, pid: worker.pid }]);
    const states = await statesOf(sql, jobId);
    expect(states.indexOf("succeeded")).toBe(states.length - 1);
    await queue.close();
  }
}, 120_000);

test.concurrent.each(providerKinds)(
  "%s: promises that handlers leave behind and that reject do not disturb the worker",
  async (kind) => {
    const name = queueOf(kind, "loose");
    const queue = nearQueue(kind, name);
    for (let n = 0; n < 20; n += 1) await queue.enqueue(tasks.once, n);
    await using worker = startWorkerProcess({
      kind,
      url,
      workers: [
        {
          queue: name,
          behaviour: { do: "leave a rejection" },
          concurrency: 4,
          leaseSeconds: 60,
          frugal: true,
        },
      ],
    });
    await eventually("all jobs", async () => (await auditQueue(sql, name)).last["succeeded"] === 20);
    const left = (): number => worker.events.filter(({ event }) => event === "unhandledRejection").length;
    await eventually("all rejections", async () => left() === 20);
    worker.signal("SIGTERM");
    expect(await worker.exited).toBe(0);
    await queue.close();
    await expectEachEndedOnce(sql, name, 20);
  },
  120_000,
);
