import { expect, test } from "bun:test";
import { ClaimLost } from "../../../tasks/worker/abort-reasons.ts";
import { AttemptSignal } from "../../../tasks/worker/attempt-signal.ts";
import { JobAttemptOver } from "./attempt-over.ts";
import { type AttemptWorld, claimOne, enter, openAttemptWorld, workOne } from "./testing/attempt-world.ts";
import type { TestProviderId, TestServices } from "./testing/test-providers.ts";
import { logRate } from "./write-log.ts";

/** Runs a test inside a provider, and passes on what it throws. */
async function inside(
  world: AttemptWorld,
  provider: TestProviderId,
  work: (services: TestServices) => Promise<void>,
): Promise<string> {
  let failure: Error | undefined;
  const id = await world.accept(provider, async (_, services) => {
    await services.workspace.write("a.vtk", "mesh a");
    await services.workspace.write("b.vtk", "mesh b");
    await work(services).catch((error: Error) => {
      failure = error;
    });
    return { cells: 1 };
  });
  const backend = world.backend();
  await workOne(backend, await claimOne(backend));
  if (failure !== undefined) throw failure;
  return id;
}

const mesh = (path: string) => ({ role: "mesh", path, mediaType: "model/vtk" });

test("an artifact that the declaration does not allow is refused, and the same role and path replaces", async () => {
  await using world = await openAttemptWorld();
  const id = await inside(world, "restart", async ({ publishArtifact, workspace }) => {
    const refused = async (publication: object): Promise<string> => {
      const error: unknown = await publishArtifact(publication as never).catch((reason: unknown) => reason);
      if (!(error instanceof TypeError)) throw new Error(`expected a TypeError, got ${String(error)}`);
      return error.message;
    };
    expect(await refused({ ...mesh("a.vtk"), role: "movie" })).toContain("/artifact/role: a role that");
    expect(await refused({ ...mesh("a.vtk"), mediaType: "video/mp4" })).toContain(
      "/artifact/mediaType: expected one of model/vtk, text/plain",
    );
    expect(await refused({ ...mesh("a.vtk"), size: 3 })).toContain("/artifact/size: no such key");
    expect(await refused(mesh("none.vtk"))).toContain("/artifact/path: ");
    expect(await refused(mesh("../outside"))).toContain("/artifact/path: ");
    const first = await publishArtifact(mesh("a.vtk"));
    await publishArtifact(mesh("b.vtk"));
    await workspace.write("c.vtk", "mesh c");
    expect(await refused(mesh("c.vtk"))).toContain("maximum of 2");
    await workspace.write("a.vtk", "another mesh");
    const second = await publishArtifact(mesh("a.vtk"));
    expect([second.length, second.id === first.id, second.digest === first.digest]).toEqual([
      12,
      false,
      false,
    ]);
  });
  expect(await world.published(id)).toEqual(["mesh a.vtk", "mesh b.vtk"]);
  expect(await world.row(id)).toMatchObject({ state: "completed", artifact_sequence: 3 });
});

test("publications at the same time keep the maximum and have numbers without gaps", async () => {
  await using world = await openAttemptWorld();
  const id = await inside(world, "restart", async ({ publishArtifact, workspace }) => {
    const paths = Array.from({ length: 8 }, (_, index) => `m${index}.vtk`);
    for (const path of paths) await workspace.write(path, path);
    const ended = await Promise.allSettled(paths.map((path) => publishArtifact(mesh(path))));
    expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  });
  const rows = await world.sql`select sequence from artifact where job = ${id} order by sequence`;
  expect(rows.map(({ sequence }: { sequence: number }) => sequence)).toEqual([1, 2]);
});

test("paths and roles may hold any well-formed text", async () => {
  await using world = await openAttemptWorld();
  const id = await inside(world, "restart", async ({ publishArtifact, workspace }) => {
    await workspace.write("ä 'quoted' \u{1F600}.vtk", "mesh");
    await publishArtifact(mesh("ä 'quoted' \u{1F600}.vtk"));
  });
  expect(await world.published(id)).toEqual(["mesh ä 'quoted' \u{1F600}.vtk"]);
});

test("of progress at a high rate the first and the last update are kept", async () => {
  await using world = await openAttemptWorld();
  const id = await inside(world, "restart", async ({ reportProgress, job }) => {
    await reportProgress({ phase: "mesh", completed: 0, total: 99 });
    expect((await world.row(job.jobId))["progress"]).toEqual({ phase: "mesh", completed: 0, total: 99 });
    for (let completed = 1; completed <= 99; completed += 1)
      void reportProgress({ phase: "mesh", completed, total: 99, message: "text \u0000 of any kind" });
  });
  const { progress, state } = await world.row(id);
  expect([state, progress]).toEqual([
    "completed",
    { phase: "mesh", completed: 99, total: 99, message: "text \u0000 of any kind" },
  ]);
});

test("an update or a line that breaks a bound is refused, and the attempt goes on", async () => {
  await using world = await openAttemptWorld();
  await inside(world, "restart", async ({ reportProgress, writeLog }) => {
    await expect(reportProgress({ phase: "" })).rejects.toThrow("/progress/phase: expected 1..128");
    await expect(writeLog({ level: "loud" as never, message: "" })).rejects.toThrow("/log/level: expected");
    await writeLog({ level: "info", message: "fine" });
  });
});

test("lines keep their order, share statements, and are capped per job with one last word", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("restart", async (_, { writeLog }) => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    await Promise.all(lines.map((message) => writeLog({ level: "info", message })));
    await writeLog({ level: "error", message: "one more" });
    return { cells: 1 };
  });
  const backend = world.backend({ logLimit: 20 });
  await workOne(backend, await claimOne(backend));
  const rows: { message: string }[] =
    await world.sql`select message from log where job = ${id} order by ordinal`;
  expect(rows.map(({ message }) => JSON.parse(message))).toEqual([
    ...Array.from({ length: 20 }, (_, index) => `line ${index}`),
    "the log is full at 20 lines: what follows is dropped",
  ]);
});

test("an attempt that writes lines without end is cut to its rate, and the log says so", async () => {
  await using world = await openAttemptWorld();
  const many = logRate.burst + 1000;
  const id = await inside(world, "restart", async ({ writeLog }) => {
    for (let index = 0; index < many; index += 1) void writeLog({ level: "debug", message: `${index}` });
  });
  const rows: { message: string }[] =
    await world.sql`select message from log where job = ${id} order by ordinal`;
  const dropped = rows.filter(({ message }) => message.includes("lines were dropped here"));
  const told = dropped.reduce((sum, { message }) => sum + Number.parseInt(JSON.parse(message), 10), 0);
  expect(rows.length - dropped.length + told).toBe(many);
  expect(told).toBeGreaterThan(0);
});

test("a checkpoint follows the newest one, and covers what was published before it", async () => {
  await using world = await openAttemptWorld();
  const id = await inside(world, "checkpoint", async ({ publishCheckpoint, publishArtifact }) => {
    const refused = (publication: object): Promise<string> =>
      publishCheckpoint(publication as never).then(
        () => "accepted",
        (error: unknown) => (error instanceof TypeError ? error.message : String(error)),
      );
    await publishArtifact(mesh("a.vtk"));
    const first = await publishCheckpoint({ paths: ["a.vtk", "b/c.txt"], metadata: { step: 1 } });
    expect(await refused({ paths: ["a.vtk"], metadata: { step: 2 } })).toBe(
      "/checkpoint/parent: expected the newest checkpoint",
    );
    const other = { ...first, revisionId: "other" };
    expect(await refused({ paths: ["a.vtk"], metadata: { step: 2 }, parent: other })).toContain("newest");
    const next = { paths: ["a.vtk"], metadata: { step: 2 }, parent: first };
    expect(await refused({ ...next, metadata: { step: "two" } })).toContain("/checkpoint/metadata: ");
    expect(await refused({ ...next, paths: [] })).toBe("/checkpoint/paths: expected 1..10000 paths");
    expect(await refused({ ...next, paths: ["a.vtk", "a.vtk"] })).toBe(
      "/checkpoint/paths/1: the same path stands twice",
    );
    expect(await refused({ ...next, paths: ["none"] })).toContain("/checkpoint/paths/0: ");
    expect(await refused({ ...next, paths: ["/etc/passwd"] })).toContain("/checkpoint/paths/0: ");
    const second = await publishCheckpoint(next);
    expect(second.treeDigest).not.toBe(first.treeDigest);
    // The same files again: the same tree, and still a checkpoint of its own.
    await publishCheckpoint({ ...next, parent: second });
  });
  const rows = await world.sql`
    select ordinal, parent, artifact_sequence, metadata from checkpoint where job = ${id} order by ordinal`;
  expect(rows.map((row: object) => ({ ...row }))).toEqual([
    { ordinal: 1, parent: null, artifact_sequence: 1, metadata: { step: 1 } },
    { ordinal: 2, parent: 1, artifact_sequence: 1, metadata: { step: 2 } },
    { ordinal: 3, parent: 2, artifact_sequence: 1, metadata: { step: 2 } },
  ]);
});

test("only a provider with checkpoints is given the service for them", async () => {
  await using world = await openAttemptWorld();
  await inside(world, "restart", async (services) => {
    expect("publishCheckpoint" in services).toBe(false);
    expect(Object.isFrozen(services)).toBe(true);
  });
});

type Losing = "another delivery" | "a cancelled job" | "a lease that passed" | "its own clock";

test.each<Losing>(["another delivery", "a cancelled job", "a lease that passed", "its own clock"])(
  "after %s no service changes anything",
  async (losing) => {
    await using world = await openAttemptWorld();
    const outcomes: unknown[] = [];
    let before: unknown;
    const standing = async (id: string): Promise<unknown[]> => [
      await world.row(id),
      ...(await Promise.all(
        ["event", "artifact", "checkpoint", "log"].map(
          async (table) => await world.sql.unsafe(`select * from ${table} where job = '${id}'`),
        ),
      )),
    ];
    // As when the event loop was blocked: nobody has noticed yet, and whoever looks at the signal does.
    let leaseIsOver = false;
    const signal: AttemptSignal = new AttemptSignal(() => {
      if (leaseIsOver) signal.abort(new ClaimLost({ jobId: "any", attempt: 1 }, "its lease is over"));
    });
    const id = await world.accept("checkpoint", async (_, services) => {
      if (outcomes.length > 0) return { cells: 2 };
      await services.workspace.write("a.vtk", "mesh");
      if (losing === "its own clock") leaseIsOver = true;
      else await lose(world, losing, id);
      before = await standing(id);
      const calls = [
        () => services.publishArtifact(mesh("a.vtk")),
        () => services.publishCheckpoint({ paths: ["a.vtk"], metadata: { step: 1 } }),
        () => services.writeLog({ level: "info", message: "from the grave" }),
        () => services.reportProgress({ phase: "from the grave" }),
        () => services.workspace.write("b.vtk", "late"),
      ];
      for (const call of calls)
        outcomes.push(
          await call().then(
            () => "accepted",
            (error: unknown) => error,
          ),
        );
      return { cells: 1 };
    });
    const backend = world.backend();
    const claim = await claimOne(backend);
    const result = await enter(backend, claim, signal.signal, signal.signal);
    expect(outcomes.map((outcome) => outcome instanceof JobAttemptOver)).toEqual(Array(5).fill(true));
    await backend.settle(claim, result);
    const after = await standing(id);
    if (losing !== "its own clock") expect(after).toEqual(before as unknown[]);
    else expect(after.slice(2)).toEqual((before as unknown[]).slice(2));
  },
);

async function lose(world: AttemptWorld, losing: Losing, id: string): Promise<void> {
  if (losing === "a cancelled job") return world.cancel(id);
  await world.advance(31);
  if (losing === "another delivery") await claimOne(world.backend());
}
