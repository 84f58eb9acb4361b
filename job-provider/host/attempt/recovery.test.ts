import { expect, test } from "bun:test";
import type { ExecutionResult } from "../../../tasks/provider.ts";
import { WorkerStopping } from "../../../tasks/worker/abort-reasons.ts";
import { leaseSeconds } from "../testing/job-host-composition.ts";
import type { JobClaim, JobWorkerBackend } from "./job-worker-backend.ts";
import { raiseFence } from "./records/raise-fence.ts";
import { startAttempt } from "./records/start-attempt.ts";
import { type AttemptWorld, claimOne, enter, openAttemptWorld, workOne } from "./testing/attempt-world.ts";
import type { Script, TestProviderId, TestServices } from "./testing/test-providers.ts";

const mesh = (path: string) => ({ role: "mesh", path, mediaType: "model/vtk" });

async function publish({ workspace, publishArtifact }: TestServices, path: string): Promise<void> {
  await workspace.write(path, `content of ${path}`);
  await publishArtifact(mesh(path));
}

interface DeadAttempt {
  readonly id: string;
  readonly backend: JobWorkerBackend;
  readonly claim: JobClaim;
  /** Lets the provider of the dead attempt return after all. */
  returnAfterAll(): Promise<ExecutionResult>;
}

/** A job whose first attempt did something, and then was never heard of again: its lease has passed. */
async function givenLost(...given: Parameters<typeof givenSilent>): Promise<DeadAttempt> {
  const dead = await givenSilent(...given);
  await given[0].advance(leaseSeconds + 1);
  return dead;
}

/** The same while the lease still runs. */
async function givenSilent(
  world: AttemptWorld,
  provider: TestProviderId,
  first: Script,
  next: Script = () => ({ cells: 2 }),
  changes: { maxAttempts?: number } = {},
): Promise<DeadAttempt> {
  const did = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  let calls = 0;
  const script: Script = async (call, services) => {
    calls += 1;
    if (calls > 1) return next(call, services);
    await Promise.resolve(first(call, services)).then(() => did.resolve(), did.reject);
    await end.promise;
    return { cells: 1 };
  };
  const id = await world.accept(provider, script, changes);
  const backend = world.backend();
  const claim = await claimOne(backend);
  const entered = enter(backend, claim);
  const tooSoon = entered.then((result) => {
    throw new Error(
      `the first attempt ended by itself: ${JSON.stringify(result)}; told: ${world.told.map(String).join("; ")}`,
    );
  });
  await Promise.race([did.promise, tooSoon]);
  tooSoon.catch(() => undefined); // later it ends when the test lets it
  return {
    id,
    backend,
    claim,
    returnAfterAll() {
      end.resolve();
      return entered;
    },
  };
}

test("a lost attempt is followed by a fresh one on the sealed input, without what it published", async () => {
  await using world = await openAttemptWorld();
  let seen: string[] = [];
  const { id, backend, claim, returnAfterAll } = await givenLost(
    world,
    "restart",
    (_, services) => publish(services, "first.vtk"),
    async (_, services) => {
      seen = (await services.workspace.list()).map(({ path }) => path);
      await publish(services, "second.vtk");
      return { cells: 2 };
    },
  );
  const next = await claimOne(backend);
  expect(await world.published(id)).toEqual([]);
  expect(await workOne(backend, next)).toBe("settled");
  const before = await world.row(id);
  expect(await backend.settle(claim, await returnAfterAll())).toBe("settled"); // there is nothing left to lose
  expect(await world.row(id)).toEqual(before);
  expect(before).toMatchObject({ state: "completed", result: { cells: 2 }, attempts: 2 });
  expect(await world.story(id)).toEqual([
    "queued",
    "running",
    "waiting ATTEMPT_LOST",
    "queued",
    "running",
    "completed",
  ]);
  expect(seen).toEqual(["a.txt", "b/c.txt"]);
  expect(await world.published(id)).toEqual(["mesh second.vtk"]);
});

test("a lost attempt that comes back while the next one runs is lost, and changes nothing", async () => {
  await using world = await openAttemptWorld();
  const { id, backend, claim, returnAfterAll } = await givenLost(world, "restart", () => undefined);
  const next = await claimOne(backend);
  const before = await world.row(id);
  const result = await returnAfterAll();
  expect(await backend.settle(claim, result)).toBe("lost");
  expect(await backend.pulse(claim)).toBe("lost");
  await backend.giveBack(claim);
  expect(await world.row(id)).toEqual(before);
  expect(await workOne(backend, next)).toBe("settled");
});

test("an attempt that is lost when none is left fails the job, and so it stays", async () => {
  await using world = await openAttemptWorld();
  const { id, backend, returnAfterAll } = await givenLost(
    world,
    "restart",
    (_, services) => publish(services, "first.vtk"),
    undefined,
    { maxAttempts: 1 },
  );
  expect(await backend.fetch(1)).toEqual([]);
  expect(await world.story(id)).toEqual(["queued", "running", "failed ATTEMPTS_EXHAUSTED"]);
  expect(await world.published(id)).toEqual([]);
  await returnAfterAll();
});

test("an attempt resumes at the newest checkpoint, with its files and what was published up to it", async () => {
  await using world = await openAttemptWorld();
  const seen: unknown[] = [];
  const { id, backend, returnAfterAll } = await givenLost(
    world,
    "checkpoint",
    async (_, services) => {
      await publish(services, "before.vtk");
      await services.workspace.write("state.bin", "step 1");
      const one = await services.publishCheckpoint({ paths: ["state.bin"], metadata: { step: 1 } });
      await services.workspace.write("state.bin", "step 2");
      await services.publishCheckpoint({ paths: ["state.bin"], metadata: { step: 2 }, parent: one });
      await publish(services, "after.vtk");
    },
    async ({ resume }, services) => {
      seen.push(resume, new TextDecoder().decode(await services.workspace.read("state.bin")));
      await services.workspace.write("state.bin", "step 3");
      await services.publishCheckpoint({
        paths: ["state.bin"],
        metadata: { step: 3 },
        parent: resume!.revision,
      });
      return { cells: 2 };
    },
  );
  const next = await claimOne(backend);
  expect(await world.published(id)).toEqual(["mesh before.vtk"]);
  expect(await workOne(backend, next)).toBe("settled");
  expect(seen).toEqual([
    { revision: expect.objectContaining({ authorityId: "test" }), metadata: { step: 2 } },
    "step 2",
  ]);
  expect(await world.row(id)).toMatchObject({ state: "completed", resumed_from: 2 });
  expect(await world.published(id)).toEqual(["mesh before.vtk"]);
  await returnAfterAll();
});

test("a checkpoint that is not compatible is passed over, and the ones after it no longer count", async () => {
  await using world = await openAttemptWorld();
  const steps: unknown[] = [];
  const { id, backend, returnAfterAll } = await givenLost(
    world,
    "checkpoint",
    async (_, services) => {
      let parent: Awaited<ReturnType<TestServices["publishCheckpoint"]>> | undefined;
      for (const step of [1, 2, 3]) {
        await publish(services, step < 3 ? "mesh.vtk" : "late.vtk");
        await services.workspace.write("state.bin", `step ${step}`);
        const publication = { paths: ["state.bin"], metadata: { step } };
        parent = await services.publishCheckpoint(parent ? { ...publication, parent } : publication);
      }
    },
    async ({ resume }, services) => {
      steps.push(resume?.metadata.step, (await world.published(services.job.jobId)).join());
      await services.publishCheckpoint({
        paths: ["state.bin"],
        metadata: { step: 9 },
        parent: resume!.revision,
      });
      return { cells: 2 };
    },
  );
  world.compatibleWith(({ step }) => {
    if (step === 3) throw new Error("a checkpoint that its own check cannot take");
    return step === 1;
  });
  await workOne(backend, await claimOne(backend));
  expect(steps).toEqual([1, "mesh mesh.vtk"]);
  const rows: { ordinal: number; parent: number | null; counts: boolean }[] = await world.sql`
    select ordinal, parent, discarded_at is null as counts from checkpoint where job = ${id} order by ordinal`;
  expect(rows.map(({ ordinal, parent, counts }) => [ordinal, parent, counts])).toEqual([
    [1, null, true],
    [2, 1, false],
    [3, 2, false],
    [4, 1, true],
  ]);
  await returnAfterAll();
});

test("without a compatible checkpoint an attempt begins from the input, and the job's next checkpoint has no parent", async () => {
  await using world = await openAttemptWorld();
  const calls: unknown[] = [];
  const { id, backend, returnAfterAll } = await givenLost(
    world,
    "checkpoint",
    async (_, services) => {
      await publish(services, "mesh.vtk");
      await services.workspace.write("a-state.bin", "step 1");
      await services.publishCheckpoint({ paths: ["a-state.bin"], metadata: { step: 1 } });
    },
    async ({ resume }, services) => {
      calls.push(
        resume,
        (await services.workspace.list()).map(({ path }) => path),
      );
      await services.publishCheckpoint({ paths: ["a.txt"], metadata: { step: 1 } });
      return { cells: 2 };
    },
  );
  world.compatibleWith(() => false);
  await workOne(backend, await claimOne(backend));
  expect(calls).toEqual([undefined, ["a.txt", "b/c.txt"]]);
  expect(await world.row(id)).toMatchObject({ state: "completed", resumed_from: null });
  expect(await world.published(id)).toEqual([]);
  await returnAfterAll();
});

test("a provider with external effects that was entered leaves its job for a person, with what it published", async () => {
  await using world = await openAttemptWorld();
  const { id, backend, claim, returnAfterAll } = await givenLost(world, "reconcile", (_, services) =>
    publish(services, "sent.vtk"),
  );
  expect(await backend.fetch(1)).toEqual([]);
  expect(await world.story(id)).toEqual(["queued", "running", "attention_required ATTEMPT_LOST"]);
  expect(await world.published(id)).toEqual(["mesh sent.vtk"]);
  const before = await world.row(id);
  await backend.settle(claim, await returnAfterAll());
  expect(await world.row(id)).toEqual(before);
});

test("ten attempts in a row that die before their provider is called cost nothing, and after them each counts", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("reconcile", () => ({ cells: 1 }), { maxAttempts: 1 });
  const backend = world.backend();
  for (let died = 0; died <= 10; died += 1) {
    expect(await claimOne(backend)).toMatchObject({ attempt: 1 });
    expect(await world.row(id)).toMatchObject({ state: "running", attempts: 1, unentered: died });
    await world.advance(leaseSeconds + 1);
  }
  expect(await backend.fetch(1)).toEqual([]);
  expect((await world.story(id)).at(-1)).toBe("failed ATTEMPTS_EXHAUSTED");
});

test("a provider with external effects that was not entered yet is simply tried again", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("reconcile", () => ({ cells: 1 }));
  const backend = world.backend();
  await claimOne(backend);
  await world.advance(leaseSeconds + 1);
  await workOne(backend, await claimOne(backend));
  expect(await world.story(id)).toEqual([
    "queued",
    "running",
    "waiting ATTEMPT_LOST",
    "queued",
    "running",
    "completed",
  ]);
});

test.each([
  ["restart", ["queued", "running", "waiting", "queued"], { attempts: 0, state: "queued", dispatch: 2 }],
  ["checkpoint", ["queued", "running", "waiting", "queued"], { attempts: 0, state: "queued", dispatch: 2 }],
  ["reconcile", ["queued", "running", "attention_required ATTEMPT_LOST"], { attempts: 1, dispatch: 1 }],
] as const)("an entered %s attempt that is stopped in good order", async (provider, story, row) => {
  await using world = await openAttemptWorld();
  const stopping = new AbortController();
  const id = await world.accept(provider, async (_, services) => {
    await publish(services, "mesh.vtk");
    stopping.abort(new WorkerStopping());
    // Asked to stop, a provider may still save what it has.
    await services.writeLog({ level: "info", message: "stopping" });
    if (provider === "checkpoint")
      await services.publishCheckpoint({ paths: ["mesh.vtk"], metadata: { step: 1 } });
    return { cells: 1 };
  });
  const backend = world.backend();
  expect(await workOne(backend, await claimOne(backend), stopping.signal)).toBe("settled");
  expect(await world.story(id)).toEqual([...story]);
  expect(await world.row(id)).toMatchObject({ ...row, log_count: 1 });
  expect(await world.published(id)).toEqual(provider === "restart" ? [] : ["mesh mesh.vtk"]);
});

test("an attempt that is given back before its provider was entered costs nothing, also with external effects", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("reconcile", () => ({ cells: 1 }), { maxAttempts: 1 });
  const backend = world.backend();
  for (let round = 1; round <= 3; round += 1) {
    const claim = await claimOne(backend);
    expect(claim).toMatchObject({ attempt: 1, work: { fence: { dispatch: round } } });
    await backend.giveBack(claim);
    await backend.giveBack(claim);
  }
  await workOne(backend, await claimOne(backend));
  expect(await world.row(id)).toMatchObject({ state: "completed", attempts: 1 });
});

test("the Jobs job of a running attempt that vanished is replaced, by the same rules", async () => {
  await using world = await openAttemptWorld();
  // Both before any time passes: a claim may take what has expired.
  const lost = await givenSilent(world, "restart", (_, services) => publish(services, "first.vtk"));
  const parked = await givenSilent(world, "reconcile", () => undefined);
  await world.sql.unsafe("truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome").simple();
  await world.advance(2 * leaseSeconds + 1);
  await world.sweep();
  expect(await world.story(lost.id)).toEqual(["queued", "running", "waiting ATTEMPT_LOST", "queued"]);
  expect(await world.published(lost.id)).toEqual([]);
  expect(await world.story(parked.id)).toEqual(["queued", "running", "attention_required ATTEMPT_LOST"]);
  expect(await lost.backend.settle(lost.claim, await lost.returnAfterAll())).toBe("lost");
  await workOne(lost.backend, await claimOne(lost.backend));
  expect(await world.row(lost.id)).toMatchObject({ state: "completed", attempts: 2 });
  await parked.returnAfterAll();
});

test("an attempt whose Jobs job vanished before its provider was called costs nothing", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("restart", () => ({ cells: 1 }), { maxAttempts: 1 });
  const backend = world.backend();
  await claimOne(backend);
  await world.sql.unsafe("truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome").simple();
  await world.advance(2 * leaseSeconds + 1);
  await world.sweep();
  expect(await world.row(id)).toMatchObject({ state: "queued", attempts: 0, unentered: 1, dispatch: 2 });
  await workOne(backend, await claimOne(backend));
  expect(await world.row(id)).toMatchObject({ state: "completed", attempts: 1 });
});

test("a claim whose answer comes after that of a later one takes nothing from it", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("restart", () => ({ cells: 1 }));
  const backend = world.backend();
  await claimOne(backend);
  await world.advance(leaseSeconds + 1);
  const later = await claimOne(backend);
  const { fence } = later.work;
  expect(fence).toMatchObject({ dispatch: 1, delivery: 2 });
  const before = await world.row(id);
  const { attemptRecords } = world.parts();
  for (const delivery of [1, 2])
    expect(await raiseFence(attemptRecords, { ...fence, delivery })).toBeUndefined();
  for (const other of [{ jobId: "job_of_another_dispatch" }, { dispatch: 2 }])
    expect(await raiseFence(attemptRecords, { ...fence, delivery: 3, ...other })).toBeUndefined();
  expect(
    await startAttempt(attemptRecords, { ...fence, delivery: 1 }, { sentAt: 0, seconds: 30 }),
  ).toBeUndefined();
  expect(await world.row(id)).toEqual(before);
  expect(await workOne(backend, later)).toBe("settled");
});
