import { expect, test } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JobArtifactStore } from "../../ports/job-artifact-store.ts";
import { JobAttemptOver } from "./attempt-over.ts";
import { type AttemptWorld, claimOne, openAttemptWorld, workOne } from "./testing/attempt-world.ts";
import type { Script, TestProviderId, TestServices } from "./testing/test-providers.ts";

/** Accepts a job, works it, and answers its id. */
async function worked(world: AttemptWorld, provider: TestProviderId, script: Script): Promise<string> {
  const id = await world.accept(provider, script);
  const backend = world.backend();
  expect(await workOne(backend, await claimOne(backend))).toBe("settled");
  return id;
}

async function publish({ workspace, publishArtifact }: TestServices, path: string): Promise<void> {
  await workspace.write(path, `content of ${path}`);
  await publishArtifact({ role: "mesh", path, mediaType: "model/vtk" });
}

test("an attempt gets the selected files and the effective configuration, and its result completes the job", async () => {
  await using world = await openAttemptWorld();
  const seen: unknown[] = [];
  const id = await worked(world, "restart", async (call, services) => {
    seen.push(call, services.job, services.attemptId, Object.isFrozen(call.input.paths));
    for (const { path } of await services.workspace.list())
      seen.push(path, new TextDecoder().decode(await services.workspace.read(path)));
    await services.workspace.write("mesh.vtk", "mesh");
    seen.push(await services.publishArtifact({ role: "mesh", path: "mesh.vtk", mediaType: "model/vtk" }));
    return { cells: 3, left: "out by the schema" };
  });
  expect(seen).toEqual([
    { input: { revision: expect.anything(), paths: ["/a.txt", "/b/c.txt"] }, configuration: { cells: 7 } },
    { hostId: "test", jobId: id },
    "1.1",
    true,
    "a.txt",
    "alpha",
    "b/c.txt",
    "charlie",
    {
      id: expect.any(String),
      role: "mesh",
      path: "mesh.vtk",
      mediaType: "model/vtk",
      length: 4,
      digest: expect.stringMatching(/^sha256:/),
    },
  ]);
  expect(await world.story(id)).toEqual(["queued", "running", "completed"]);
  expect(await world.row(id)).toMatchObject({ state: "completed", result: { cells: 3 }, attempts: 1 });
  expect(await world.published(id)).toEqual(["mesh mesh.vtk"]);
  expect(await world.backend().fetch(1)).toEqual([]);
  expect(await readdir(join(world.directory, "workspaces"))).toEqual([]);
});

test("what a provider throws fails the job, and its words are kept nowhere", async () => {
  await using world = await openAttemptWorld();
  const words = ["CANARY", "the", "provider", "said"].join("-");
  const id = await worked(world, "restart", () => {
    throw new Error(words);
  });
  expect(await world.story(id)).toEqual(["queued", "running", "failed PROVIDER_EXECUTION_FAILED"]);
  const row = JSON.stringify(await world.row(id));
  const [{ logs }] = await world.sql`select count(*)::int as logs from log`;
  expect([row.includes(words), logs, world.told]).toEqual([false, 0, []]);
});

test.each([
  ["is refused by its schema", { cells: "many" }],
  ["is no JSON", { cells: Number.NaN }],
  ["has an accessor", Object.defineProperty({}, "cells", { enumerable: true, get: () => 1 })],
  ["is missing", undefined],
])("a result that %s fails the job as invalid", async (_, result) => {
  await using world = await openAttemptWorld();
  const id = await worked(world, "restart", () => result);
  expect(await world.story(id)).toEqual(["queued", "running", "failed RESULT_INVALID"]);
});

test("a job whose role has fewer artifacts than its minimum fails", async () => {
  await using world = await openAttemptWorld();
  const id = await worked(world, "strict", () => ({ cells: 1 }));
  expect(await world.story(id)).toEqual(["queued", "running", "failed ARTIFACT_MISSING"]);
});

test("an artifact whose bytes changed in the store, or are gone, keeps a job from being completed", async () => {
  await using world = await openAttemptWorld();
  const stored = async (): Promise<string> => {
    const folder = join(world.directory, "artifacts");
    const names = await readdir(folder, { recursive: true, withFileTypes: true });
    const newest = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
    const match = await Promise.all(newest.map(async (path) => [path, await Bun.file(path).text()] as const));
    return match.find(([, text]) => text.startsWith("content of changed"))![0];
  };
  const id = await worked(world, "strict", async (_, services) => {
    await publish(services, "changed.vtk");
    await Bun.$`chmod u+w ${await stored()}`.quiet();
    await writeFile(await stored(), "content of changed.VTK");
    return { cells: 1 };
  });
  expect(await world.story(id)).toEqual(["queued", "running", "failed ARTIFACT_MISMATCH"]);
  const gone = await world.accept("strict", async (_, services) => {
    await publish(services, "gone.vtk");
    return { cells: 1 };
  });
  const artifacts: JobArtifactStore = { ...world.artifacts, read: async () => undefined };
  const backend = world.backend({ artifacts });
  await workOne(backend, await claimOne(backend));
  expect(await world.story(gone)).toEqual(["queued", "running", "failed ARTIFACT_MISSING"]);
});

test("a publication that the provider did not wait for still counts, and a call after its return is refused", async () => {
  await using world = await openAttemptWorld();
  let late: TestServices | undefined;
  const id = await worked(world, "strict", async (_, services) => {
    late = services;
    await services.workspace.write("a.vtk", "mesh");
    void services.publishArtifact({ role: "mesh", path: "a.vtk", mediaType: "model/vtk" });
    return { cells: 1 };
  });
  expect(await world.story(id)).toEqual(["queued", "running", "completed"]);
  expect(await world.published(id)).toEqual(["mesh a.vtk"]);
  const before = await world.row(id);
  const calls = [
    late!.reportProgress({ phase: "late" }),
    late!.writeLog({ level: "info", message: "late" }),
    late!.publishArtifact({ role: "mesh", path: "a.vtk", mediaType: "model/vtk" }),
  ];
  for (const call of calls) await expect(call).rejects.toBeInstanceOf(JobAttemptOver);
  await expect(late!.workspace.write("b.vtk", "late")).rejects.toThrow();
  expect(await world.row(id)).toEqual(before);
});

test("an attempt that cannot be made is tried again later, and at last the job has failed", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("reconcile", () => ({ cells: 1 }), { maxAttempts: 2 });
  const { revisions } = world.parts();
  const backend = world.backend({ revisions: { ...revisions, list: async () => undefined } });
  await workOne(backend, await claimOne(backend));
  expect(await world.row(id)).toMatchObject({ state: "queued", attempts: 1, dispatch: 2 });
  expect(world.told).toHaveLength(1);
  expect(await backend.fetch(1)).toEqual([]);
  await world.advance(2);
  await workOne(backend, await claimOne(backend));
  expect(await world.story(id)).toEqual([
    "queued",
    "running",
    "waiting ATTEMPT_LOST",
    "queued",
    "running",
    "failed ATTEMPTS_EXHAUSTED",
  ]);
});

test("a store that is away for a moment when a job ends is asked again", async () => {
  await using world = await openAttemptWorld();
  let failures = 2;
  const artifacts: JobArtifactStore = {
    ...world.artifacts,
    read(...call) {
      failures -= 1;
      return failures < 0 ? world.artifacts.read(...call) : Promise.reject(new Error("away"));
    },
  };
  const id = await world.accept("strict", async (_, services) => {
    await publish(services, "mesh.vtk");
    return { cells: 1 };
  });
  const backend = world.backend({ artifacts });
  await workOne(backend, await claimOne(backend));
  expect(await world.story(id)).toEqual(["queued", "running", "completed"]);
});
