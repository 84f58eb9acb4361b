import { expect, test } from "bun:test";
import { SQL } from "bun";
import { DatabaseError } from "../../../plugin/store/drivers/database-error.ts";
import { JobCancelled, WorkerStopping } from "../../../tasks/worker/abort-reasons.ts";
import { untilLocksWaitedFor } from "../../../tests/postgres/support/observe.ts";
import { createJobHost } from "../create-job-host.ts";
import type { JobSession } from "../records/job-session.ts";
import { claimOne, openAttemptWorld, workOne } from "./testing/attempt-world.ts";

/** Resolves when the signal aborts, with its reason. */
function aborted(signal: AbortSignal): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  if (signal.aborted) resolve(signal.reason);
  return promise;
}

test("jobs over several workers each run once, and a stop waits for what runs", async () => {
  await using world = await openAttemptWorld();
  const runs = new Map<string, number>();
  const ids: string[] = [];
  for (let index = 0; index < 12; index += 1)
    ids.push(
      await world.accept("restart", async (_, { job, workspace }) => {
        await workspace.write("state", "x");
        runs.set(job.jobId, (runs.get(job.jobId) ?? 0) + 1);
        return { cells: index };
      }),
    );
  const workers = [world.worker({ concurrency: 3 }), world.worker({ concurrency: 3 })];
  await world.untilStates(ids, "completed");
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(workers.map(({ done }) => done));
  expect([...runs.values()]).toEqual(Array(12).fill(1));
  expect(world.told).toEqual([]);
});

test("cancelling a running job ends it at once, and its signal aborts long before the next renewal", async () => {
  await using world = await openAttemptWorld();
  const running = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const id = await world.accept("restart", async (_, { signal, writeLog }) => {
    running.resolve();
    const reason = await aborted(signal);
    const late = await writeLog({ level: "info", message: "late" }).catch((error: Error) => error.name);
    ended.resolve([reason instanceof JobCancelled, late]);
    return { cells: 1 };
  });
  const worker = world.worker();
  await running.promise;
  const began = performance.now();
  await world.cancel(id);
  expect(await world.row(id)).toMatchObject({ state: "cancelled" });
  expect(await ended.promise).toEqual([true, "JobAttemptOver"]);
  expect(performance.now() - began).toBeLessThan(9000); // a third of the lease is 10 s
  await worker.stop();
  expect(await world.story(id)).toEqual(["queued", "running", "cancelled"]);
  expect(world.told).toEqual([]);
  const [{ open }] =
    await world.sql`select (select count(*) from jobs.ready) + (select count(*) from jobs.lease) as open`;
  expect(Number(open)).toBe(0);
});

test("a job that is cancelled before its provider is entered never enters it, and nobody is told of trouble", async () => {
  await using world = await openAttemptWorld();
  let entered = false;
  const id = await world.accept("reconcile", () => {
    entered = true;
    return { cells: 1 };
  });
  const backend = world.backend();
  const claim = await claimOne(backend);
  await world.cancel(id);
  expect(await workOne(backend, claim)).toBe("settled");
  expect([entered, world.told]).toEqual([false, []]);
  expect(await world.story(id)).toEqual(["queued", "running", "cancelled"]);
});

test("a stop that aborts hands the job to another worker without costing an attempt", async () => {
  await using world = await openAttemptWorld();
  const running = Promise.withResolvers<void>();
  const calls: unknown[] = [];
  const id = await world.accept(
    "restart",
    async (_, { signal }) => {
      calls.push("entered");
      if (calls.length > 1) return { cells: 2 };
      running.resolve();
      calls.push((await aborted(signal)) instanceof WorkerStopping);
      throw new Error("stopped by its signal");
    },
    { maxAttempts: 1 },
  );
  const worker = world.worker();
  await running.promise;
  await worker.stop({ abort: true });
  expect(await world.row(id)).toMatchObject({ state: "queued", attempts: 0, dispatch: 2 });
  const next = world.worker();
  await world.untilStates([id], "completed");
  await next.stop();
  expect(calls).toEqual(["entered", true, "entered"]);
  expect(await world.row(id)).toMatchObject({ result: { cells: 2 }, attempts: 1 });
});

test("a job whose provider this worker does not have is handed on to one that has it", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("restart", () => ({ cells: 1 }));
  const older = world.backend({ providers: new Map() });
  expect(await older.fetch(1)).toEqual([]);
  expect(world.told.map(String)).toEqual([expect.stringContaining('a job of provider "restart"')]);
  expect(await world.row(id)).toMatchObject({ state: "queued", attempts: 0, revision: 1 });
  await world.advance(2); // the back-off of the Jobs job, not its lease
  const backend = world.backend();
  await workOne(backend, await claimOne(backend));
  expect(await world.row(id)).toMatchObject({ state: "completed", attempts: 1 });
});

test.each([
  ["before it was recorded", "queued"],
  ["after it was recorded", "running"],
])("a start whose answer is lost %s is handed on, and costs no attempt", async (when, state) => {
  await using world = await openAttemptWorld();
  const id = await world.accept("restart", () => ({ cells: 1 }), { maxAttempts: 1 });
  const { attemptRecords } = world.parts();
  let calls = 0;
  const failing: JobSession = {
    ...attemptRecords,
    async query(text, values) {
      calls += 1;
      if (calls === 2 && when === "after it was recorded") await attemptRecords.query(text, values);
      if (calls === 2) throw new DatabaseError("CONNECTION_CLOSED", "by the test");
      return attemptRecords.query(text, values);
    },
  };
  await expect(world.backend({ attemptRecords: failing }).fetch(1)).rejects.toThrow("CONNECTION_CLOSED");
  expect(await world.row(id)).toMatchObject({ state });
  await world.advance(2);
  const backend = world.backend();
  await workOne(backend, await claimOne(backend));
  expect(await world.row(id)).toMatchObject({ state: "completed", attempts: 1, unentered: 0 });
});

test("an attempt that its worker left is refused what it asks for later, and ends", async () => {
  await using world = await openAttemptWorld();
  const running = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown[]>();
  const id = await world.accept("checkpoint", async (_, services) => {
    await services.workspace.write("a.vtk", "mesh");
    running.resolve();
    await goOn.promise; // a step that does not look at its signal
    const calls = await Promise.allSettled([
      services.publishArtifact({ role: "mesh", path: "a.vtk", mediaType: "model/vtk" }),
      services.publishCheckpoint({ paths: ["a.vtk"], metadata: { step: 1 } }),
      services.reportProgress({ phase: "late" }),
      services.writeLog({ level: "info", message: "late" }),
      services.workspace.write("b.vtk", "late"),
    ]);
    ended.resolve(calls.map((call) => (call.status === "rejected" ? call.reason : "accepted")));
    return { cells: 1 };
  });
  const worker = world.worker();
  await running.promise;
  await worker.stop({ abort: true, graceMs: 0 });
  const before = await world.row(id);
  goOn.resolve();
  const over = expect.objectContaining({
    message: expect.stringContaining("its worker has ended without it"),
  });
  expect(await ended.promise).toEqual(Array(5).fill(over));
  // A renewal may have been under way when the worker ended.
  const after = await world.row(id);
  expect({ ...after, lease_until: 0, look_at: 0 }).toEqual({ ...before, lease_until: 0, look_at: 0 });
});

test("publishing outlasts a database that is away, and whose answers are lost", async () => {
  await using world = await openAttemptWorld();
  const { attemptRecords } = world.parts();
  let failures = 0;
  const flaky: JobSession = {
    ...attemptRecords,
    async query(text, values) {
      if (!/insert into \S*(artifact|checkpoint)/.test(text)) return attemptRecords.query(text, values);
      failures += 1;
      if (failures % 3 === 1) throw new DatabaseError("CONNECTION_CLOSED", "before");
      const answer = await attemptRecords.query(text, values);
      if (failures % 3 === 2) throw new DatabaseError("CONNECTION_CLOSED", "after");
      return answer;
    },
  };
  const id = await world.accept("checkpoint", async (_, services) => {
    await services.workspace.write("a.vtk", "mesh");
    await services.publishArtifact({ role: "mesh", path: "a.vtk", mediaType: "model/vtk" });
    const parent = await services.publishCheckpoint({ paths: ["a.vtk"], metadata: { step: 1 } });
    await services.publishCheckpoint({ paths: ["a.vtk"], metadata: { step: 2 }, parent });
    return { cells: 1 };
  });
  const backend = world.backend({ attemptRecords: flaky });
  await workOne(backend, await claimOne(backend));
  expect(await world.row(id)).toMatchObject({ state: "completed", artifact_sequence: 1 });
  const [{ checkpoints }] =
    await world.sql`select count(*)::int as checkpoints from checkpoint where job = ${id}`;
  expect(checkpoints).toBe(2);
});

test.each([
  ["an artifact", "artifact"],
  ["a checkpoint", "checkpoint"],
] as const)(
  "%s whose first try the server is still at when it is asked for again is recorded once",
  async (_, table) => {
    await using world = await openAttemptWorld();
    await using other = new SQL(world.url, { max: 1 });
    const { attemptRecords } = world.parts();
    const held = Promise.withResolvers<void>();
    let tries = 0;
    const cut: JobSession = {
      ...attemptRecords,
      async query(text, values) {
        const answer = attemptRecords.query(text, values);
        if (!text.includes(`insert into "job_host".${table}`)) return answer;
        tries += 1;
        await untilLocksWaitedFor(world.sql, tries);
        if (tries === 2) held.resolve();
        if (tries > 1) return answer;
        answer.catch(() => undefined);
        throw new DatabaseError("CONNECTION_CLOSED", "the link is cut, and the server's session goes on");
      },
    };
    const id = await world.accept("checkpoint", async (_call, services) => {
      await services.workspace.write("a.vtk", "mesh");
      const publish = (): Promise<unknown> =>
        table === "artifact"
          ? services.publishArtifact({ role: "mesh", path: "a.vtk", mediaType: "model/vtk" })
          : services.publishCheckpoint({ paths: ["a.vtk"], metadata: { step: 1 } });
      let published: Promise<unknown> | undefined;
      await other.begin(async (locking) => {
        await locking`select 1 from job_host.job where id = ${services.job.jobId} for update`;
        published = publish();
        await Promise.race([held.promise, published]);
      });
      await published;
      return { cells: 1 };
    });
    const backend = world.backend({ attemptRecords: cut });
    await workOne(backend, await claimOne(backend));
    expect(await world.row(id)).toMatchObject({ state: "completed" });
    const [{ rows }] = await world.sql.unsafe(
      `select count(*)::int as rows from ${table} where job = '${id}'`,
    );
    expect([tries, rows]).toEqual([2, 1]);
  },
);

test("a settlement that is asked for again after a lost answer answers the same", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("restart", () => ({ cells: 1 }));
  const backend = world.backend();
  const claim = await claimOne(backend);
  const outcome = { ok: true, result: { kind: "interrupted", spent: false, delaySeconds: 0 } } as const;
  expect(await backend.settle(claim, outcome)).toBe("settled");
  expect(await backend.settle(claim, outcome)).toBe("settled");
  expect(await world.row(id)).toMatchObject({ state: "queued", attempts: 0, dispatch: 2 });
  await workOne(backend, await claimOne(backend));
  expect(await world.story(id)).toHaveLength(6);
});

test("options that cannot work are refused, at once or by the first job", async () => {
  await using world = await openAttemptWorld();
  const refused = { code: "invalid-options" };
  expect(() => world.worker({ concurrency: 0 })).toThrow(expect.objectContaining(refused));
  expect(() => world.worker({ workers: 2 } as never)).toThrow(expect.objectContaining(refused));
  const id = await world.accept("restart", () => ({ cells: 1 }));
  await expect(world.worker({}, { leaseSeconds: 31 }).done).rejects.toMatchObject(refused);
  await expect(world.worker({}, { queue: "nowhere" }).done).rejects.toMatchObject(refused);
  expect(await world.row(id)).toMatchObject({ state: "queued", attempts: 0 });
});

test("a worker on a schema that was never made ends at once, and says so", async () => {
  await using world = await openAttemptWorld();
  const { jobs, queue, leaseSeconds, revisions, artifacts } = world.parts();
  const host = createJobHost({
    hostId: "test",
    database: { connectionString: world.url, schema: "nowhere" },
    jobs,
    queue,
    leaseSeconds,
    providers: [],
    revisions,
    artifacts,
  });
  await expect(host.startWorker().done).rejects.toMatchObject({
    code: "schema-unfit",
    cause: { message: expect.stringContaining("migrateJobHost") },
  });
  await host.close();
});
