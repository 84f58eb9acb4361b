import { expect, test } from "bun:test";
import { SQL } from "bun";
import pg from "pg";
import { createJobHost } from "./create-job-host.ts";
import type { JobHostOptions } from "./host-options.ts";
import { textOf } from "./testing/host-providers.ts";
import { openHostWorld } from "./testing/host-world.ts";

const nobody = { hostId: "test", jobId: "00000000-0000-7000-8000-000000000000" };

test("a job runs from its submission to its result, artifacts, progress and log", async () => {
  await using world = await openHostWorld();
  world.work.execute = async ({ workspace, publishArtifact, reportProgress, writeLog }) => {
    const text = new TextDecoder().decode(await workspace.read("b/c.txt"));
    await workspace.write("out.txt", text.toUpperCase());
    await publishArtifact({ role: "mesh", path: "out.txt", mediaType: "text/plain" });
    await reportProgress({ phase: "done", completed: 1, total: 1 });
    for (const message of ["one", "two \0", "three"]) await writeLog({ level: "info", message });
    return { cells: text.length };
  };
  const host = world.host();
  const reference = await world.accept(host);
  expect(await host.result(reference)).toEqual({ state: "queued" });
  expect(await host.progress(reference)).toBeNull();
  expect(await host.logs(reference)).toEqual({ lines: [], next: null });
  const worker = host.startWorker();
  await Array.fromAsync(host.watch(reference));
  await worker.stop();
  expect(await host.result(reference)).toEqual({ state: "completed", value: { cells: 7 } });
  const [mesh] = (await host.artifacts(reference)) ?? [];
  expect(mesh).toMatchObject({ role: "mesh", path: "out.txt", mediaType: "text/plain", length: 7 });
  expect(mesh && (await textOf(mesh.read()))).toBe("CHARLIE");
  expect(await host.progress(reference)).toEqual({
    update: { phase: "done", completed: 1, total: 1 },
    at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  const first = await host.logs(reference, { limit: 2 });
  expect(first?.lines.map(({ message }) => message)).toEqual(["one", "two \0"]);
  const second = await host.logs(reference, { after: first?.next ?? 0 });
  expect(second).toMatchObject({ lines: [{ ordinal: 3, level: "info", message: "three" }], next: null });
});

test("what is not there is null, whatever the reference says", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const { jobId } = await world.accept(host);
  for (const reference of [nobody, { hostId: "other", jobId }, { hostId: "test", jobId: "x\0" }]) {
    expect(await host.get(reference)).toBeNull();
    expect(await host.inspect(reference)).toBeNull();
    expect(await host.result(reference)).toBeNull();
    expect(await host.artifacts(reference)).toBeNull();
    expect(await host.progress(reference)).toBeNull();
    expect(await host.logs(reference)).toBeNull();
    expect(await host.cancel(reference)).toEqual({ ok: false, code: "JOB_NOT_FOUND" });
  }
  await expect(host.get({ hostId: "test" } as never)).rejects.toThrow("/reference/jobId");
});

test("an inspection says what a job waits for: its provider, an attempt, or nothing any more", async () => {
  await using world = await openHostWorld();
  const [host, without] = [world.host(), world.host({ providers: [] })];
  const reference = await world.accept(host);
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(await without.inspect(reference)).toEqual({
    state: "queued",
    revision: 1,
    code: null,
    attempts: 0,
    leaseUntil: null,
    progress: null,
    acceptedAt: time,
    finishedAt: null,
    isProviderHosted: false,
    isDispatched: expect.any(Boolean), // it goes on in the background
    notBefore: time,
    maxAttempts: 3,
    attemptsNotEntered: 0,
  });
  const running = Promise.withResolvers<unknown>();
  world.work.execute = async ({ reportProgress }) => {
    await reportProgress({ phase: "half" });
    running.resolve(await host.inspect(reference));
    throw new Error("no more");
  };
  const worker = host.startWorker();
  expect(await running.promise).toMatchObject({
    state: "running",
    isProviderHosted: true,
    isDispatched: true,
    leaseUntil: time,
    attempts: 1,
    progress: { update: { phase: "half" }, at: time },
  });
  await Array.fromAsync(host.watch(reference));
  await worker.stop();
  expect(await host.inspect(reference)).toMatchObject({
    state: "failed",
    code: "PROVIDER_EXECUTION_FAILED",
    finishedAt: time,
    leaseUntil: null,
  });
});

test("jobs are listed in bounded pages, by state and by provider", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const references = [];
  for (const provider of ["restart", "reconcile", "restart", "restart", "reconcile"] as const)
    references.push(await world.accept(host, provider));
  await world.host({ hostId: "other" }).submit(world.submission());
  const [first, second, third, fourth, fifth] = references.map(({ jobId }) => jobId);
  await host.cancel({ hostId: "test", jobId: third ?? "" });
  const idsOf = async (request: Parameters<typeof host.list>[0]): Promise<unknown> => {
    const { jobs, next } = await host.list(request);
    return [jobs.map(({ reference }) => reference.jobId), next];
  };
  expect(await idsOf({ limit: 2 })).toEqual([[first, second], second]);
  expect(await idsOf({ limit: 3, after: second as string })).toEqual([[third, fourth, fifth], null]);
  expect(await idsOf({ state: "cancelled" })).toEqual([[third], null]);
  expect(await idsOf({ providerId: "restart", state: "queued" })).toEqual([[first, fourth], null]);
  expect(await idsOf({ providerId: "reconcile", limit: 1 })).toEqual([[second], second]);
  const { jobs } = await host.list({ state: "cancelled" });
  expect(jobs[0]).toMatchObject({
    revision: 2,
    provider: { id: "restart", version: "1.0.0" },
    code: null,
    acceptedAt: expect.any(String),
    finishedAt: expect.any(String),
  });
  for (const request of [{ limit: 0 }, { limit: 101 }, { after: "x" }, { state: "lost" }, { other: 1 }])
    await expect(host.list(request as never)).rejects.toThrow(TypeError);
});

test("a cancelled job has its event at once, and a second cancel changes nothing", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const reference = await world.accept(host);
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => host.cancel(reference)));
  expect(outcomes).toEqual(Array(8).fill({ ok: true, revision: 2 }));
  expect(await world.story(reference)).toEqual(["queued", "cancelled"]);
  expect(await host.result(reference)).toEqual({ state: "cancelled" });
  let runs = 0;
  world.work.execute = async () => ({ cells: (runs += 1) });
  const later = await world.accept(host);
  const worker = host.startWorker();
  await Array.fromAsync(host.watch(later));
  await worker.stop();
  expect(runs).toBe(1);
  expect(await host.cancel(later)).toEqual({ ok: false, code: "JOB_TERMINAL" });
});

test("cancelling a running job from another process aborts it soon, and what it writes then is refused", async () => {
  await using world = await openHostWorld();
  const entered = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<unknown>();
  world.work.execute = async ({ signal, writeLog }) => {
    entered.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    refused.resolve(await writeLog({ level: "info", message: "late" }).catch((error: unknown) => error));
    return { cells: 1 };
  };
  const [host, other] = [world.host(), world.host()];
  const reference = await world.accept(host);
  const worker = host.startWorker();
  await entered.promise;
  expect(await other.cancel(reference)).toEqual({ ok: true, revision: 3 });
  expect(await other.get(reference)).toMatchObject({ state: "cancelled" });
  expect(await refused.promise).toBeInstanceOf(Error);
  await worker.stop();
  expect(await world.story(reference)).toEqual(["queued", "running", "cancelled"]);
  expect(await host.logs(reference)).toMatchObject({ lines: [] });
});

test.each(["a pg.Pool", "a Bun.SQL"])(
  "a host on %s that is borrowed works, and leaves it open",
  async (kind) => {
    await using world = await openHostWorld();
    const pool =
      kind === "a pg.Pool"
        ? new pg.Pool({ connectionString: world.url, max: 2 })
        : new SQL(world.url, { max: 2 });
    const host = world.host({ database: { pool } });
    const reference = await world.accept(host);
    const worker = host.startWorker();
    expect((await Array.fromAsync(host.watch(reference))).at(-1)).toMatchObject({ state: "completed" });
    await worker.stop();
    await host.close();
    if (pool instanceof pg.Pool) {
      expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
      await pool.end();
    } else {
      expect([...(await pool`select 1 as one`)]).toEqual([{ one: 1 }]);
      await pool.close();
    }
  },
);

test("a closed host refuses everything, and closing twice is one close", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const reference = await world.accept(host);
  host.startWorker();
  await Promise.all([host.close(), host.close()]);
  for (const call of [
    () => host.submit(world.submission()),
    () => host.get(reference),
    () => host.list(),
    () => host.cancel(reference),
    () => host.query(reference, "about"),
  ])
    await expect(call()).rejects.toMatchObject({ code: "closed" });
  expect(() => host.startWorker()).toThrow("the host is closed");
});

test("a later close with abort hurries the first one, and what was interrupted costs no attempt", async () => {
  await using world = await openHostWorld();
  const entered = Promise.withResolvers<void>();
  world.work.execute = async ({ signal }) => {
    entered.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    throw signal.reason;
  };
  const host = world.host();
  const reference = await world.accept(host);
  host.startWorker();
  await entered.promise;
  const closed = host.close(); // waits for the provider
  await Promise.all([closed, host.close({ abort: true })]);
  expect(await world.row(reference)).toMatchObject({ state: "queued", attempts: 0, dispatch: 2 });
  expect(await world.story(reference)).toEqual(["queued", "running", "waiting", "queued"]);
});

test("calls that hold every connection of the users keep no attempt from its work", async () => {
  await using world = await openHostWorld();
  const [entered, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  world.work.execute = async ({ writeLog }) => {
    entered.resolve();
    await goOn.promise;
    await writeLog({ level: "info", message: "meanwhile" });
    return { cells: 1 };
  };
  const host = world.host();
  const reference = await world.accept(host);
  const worker = host.startWorker();
  await entered.promise;
  const stuck = await world.accept(host);
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = world.sql.begin(async (sql) => {
    await sql`select from job where id = ${stuck.jobId} for update`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const cancels = Promise.all(Array.from({ length: 12 }, () => host.cancel(stuck)));
  goOn.resolve();
  expect((await Array.fromAsync(world.host().watch(reference))).at(-1)).toMatchObject({ state: "completed" });
  release.resolve();
  await holding;
  expect((await cancels).every(({ ok }) => ok)).toBe(true);
  await worker.stop();
});

test("a worker whose Instance is no producer and worker of the Jobs Instance is told so", async () => {
  await using world = await openHostWorld();
  const worker = world.host({ jobs: world.client("stranger") }).startWorker();
  await expect(worker.done).rejects.toMatchObject({ code: "invalid-options" });
});

test("options are checked at once, and the cause names the key", async () => {
  await using world = await openHostWorld();
  const fine = world.submission();
  expect(fine.provider.id).toBe("restart");
  const options: JobHostOptions = {
    hostId: "test",
    database: { connectionString: "postgres://localhost/none" },
    jobs: world.client(),
    queue: "jobs",
    leaseSeconds: 30,
    providers: [],
    revisions: world.revisions,
    artifacts: world.artifacts,
  };
  const causeOf = (changes: object): unknown => {
    try {
      createJobHost({ ...options, ...changes });
      return "accepted";
    } catch (error) {
      return `${(error as { code: string }).code} ${((error as Error).cause as Error).message}`;
    }
  };
  expect(causeOf({})).toBe("accepted");
  for (const [changes, said] of [
    [{ hostId: "" }, "hostId: expected 1..256"],
    [{ hostId: "a\0" }, "hostId: expected 1..256"],
    [{ database: {} }, "database: expected exactly one"],
    [{ database: { connectionString: "mysql://x" } }, "database.connectionString: expected"],
    [{ database: { connectionString: "postgres://x/y", schema: "Public" } }, "database.schema: expected"],
    [{ jobs: {} }, "jobs: expected a client"],
    [{ queue: "a b" }, "queue: expected"],
    [{ leaseSeconds: 0 }, "leaseSeconds: expected an integer 1..3600, got 0"],
    [{ providers: [{ id: "x" }] }, "providers.0: expected a registration"],
    [{ revisions: {} }, "revisions: expected a JobRevisionStore"],
    [{ capabilities: { cores: Number.NaN } }, "capabilities.cores: expected"],
    [{ workspaceDirectory: "relative" }, "workspaceDirectory: expected an absolute path"],
    [{ logLimit: 0 }, "logLimit: expected an integer"],
    [{ other: 1 }, "other: no such key"],
  ] as const)
    expect(causeOf(changes)).toStartWith(`invalid-options ${said}`);
});
