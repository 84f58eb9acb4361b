import { expect, test } from "bun:test";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WorkerStopping } from "../../../tasks/worker/abort-reasons.ts";
import type { JobArtifactStore } from "../../ports/job-artifact-store.ts";
import { JobProviderFailure } from "../job-provider-failure.ts";
import { JobAttemptOver } from "./attempt-over.ts";
import type { JobWorkerBackend } from "./job-worker-backend.ts";
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
  expect(await readdir(await world.parts().workspaces())).toEqual([]);
});

/** The lines of the log, each with its level and attempt. */
async function logged(world: AttemptWorld): Promise<string[]> {
  const rows =
    await world.sql`select concat_ws(' ', level, attempt, message::jsonb #>> '{}') as line from log order by ordinal`;
  return rows.map(({ line }: { readonly line: string }) => line);
}

test("what a provider throws fails the job; onError has its words, and the log its class alone", async () => {
  await using world = await openAttemptWorld();
  const words = ["CANARY", "the", "provider", "said"].join("-");
  const thrown = new RangeError(words);
  const id = await worked(world, "restart", () => {
    throw thrown;
  });
  expect(await world.story(id)).toEqual(["queued", "running", "failed PROVIDER_EXECUTION_FAILED"]);
  expect(JSON.stringify(await world.row(id))).not.toContain(words);
  expect(await logged(world)).toEqual([
    "error 1.1 PROVIDER_EXECUTION_FAILED: the provider threw: RangeError",
  ]);
  const [told] = world.told as JobProviderFailure[];
  expect(told).toBeInstanceOf(JobProviderFailure);
  expect(told).toMatchObject({ job: { hostId: "test", jobId: id }, during: "attempt 1.1" });
  expect([told?.cause === thrown, told?.message.includes(words), world.told.length]).toEqual([
    true,
    false,
    1,
  ]);
});

test("an attempt that ends because it was asked to is no failure that is told", async () => {
  await using world = await openAttemptWorld();
  const stopping = new AbortController();
  const id = await world.accept("restart", () => {
    stopping.abort(new WorkerStopping());
    throw new Error("stopped early");
  });
  const backend = world.backend();
  await workOne(backend, await claimOne(backend), stopping.signal);
  expect(await world.row(id)).toMatchObject({ state: "queued" });
  expect([world.told, await logged(world)]).toEqual([[], []]);
});

test.each([
  ["is refused by its schema", { cells: "many" }, "/cells: refused by the result's schema"],
  ["is no JSON", { cells: Number.NaN }, "/cells: NaN is not a JSON number"],
  [
    "has an accessor",
    Object.defineProperty({}, "cells", { enumerable: true, get: () => 1 }),
    "/cells: an accessor",
  ],
  ["has undefined", { cells: 1, note: undefined }, "/note: undefined is not JSON"],
  ["has a negative zero", { cells: -0 }, "/cells: -0 is not a canonical number"],
  ["is missing", undefined, "the value: undefined is not JSON"],
])("a result that %s fails the job as invalid, and the log says where and why", async (_, result, why) => {
  await using world = await openAttemptWorld();
  const id = await worked(world, "restart", () => result);
  expect(await world.story(id)).toEqual(["queued", "running", "failed RESULT_INVALID"]);
  const [line] = await logged(world);
  expect(line).toStartWith(`error 1.1 RESULT_INVALID: the result is refused: ${why}`);
  expect(line).not.toContain("many");
  expect(world.told).toMatchObject([{ code: "RESULT_INVALID", cause: expect.any(TypeError) }]);
});

test("a job whose role has fewer artifacts than its minimum fails, and the log names the role", async () => {
  await using world = await openAttemptWorld();
  const id = await worked(world, "strict", () => ({ cells: 1 }));
  expect(await world.story(id)).toEqual(["queued", "running", "failed ARTIFACT_MISSING"]);
  expect(await logged(world)).toEqual([
    'error 1.1 ARTIFACT_MISSING: the role "mesh" has 0 artifacts, its minimum is 1',
  ]);
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

/** A worker that cannot read the input of any job. */
function blind(world: AttemptWorld): JobWorkerBackend {
  const { revisions } = world.parts();
  return world.backend({ revisions: { ...revisions, list: async () => undefined } });
}

test("ten attempts in a row that cannot be laid out cost nothing, each waits longer, and after them each counts", async () => {
  await using world = await openAttemptWorld();
  const id = await world.accept("reconcile", () => ({ cells: 1 }), { maxAttempts: 2 });
  const backend = blind(world);
  const waits: number[] = [];
  const attempts: unknown[] = [];
  for (let row = await world.row(id); row["state"] === "queued"; row = await world.row(id)) {
    await workOne(backend, await claimOne(backend));
    const [next] = await world.sql`
      select j.attempts, round(extract(epoch from j.run_at - e.at))::int as seconds
      from job j join event e on e.job = j.id and e.revision = j.revision where j.id = ${id} and j.state = 'queued'`;
    if (next === undefined) break;
    waits.push(next.seconds);
    attempts.push(next.attempts);
    expect(await backend.fetch(1)).toEqual([]);
    await world.advance(next.seconds);
  }
  expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60]);
  expect(attempts).toEqual([...Array(10).fill(0), 1]);
  const story = await world.story(id);
  expect(story.slice(0, 4)).toEqual(["queued", "running", "waiting ATTEMPT_LOST", "queued"]);
  expect(story.at(-1)).toBe("failed ATTEMPTS_EXHAUSTED");
  expect(story.filter((state) => state === "running")).toHaveLength(12);
});

test("an attempt that called its provider begins the count of those that could not anew", async () => {
  await using world = await openAttemptWorld();
  const stopping = new AbortController();
  const id = await world.accept("restart", () => {
    stopping.abort(new WorkerStopping());
    return { cells: 1 };
  });
  const [unable, able] = [blind(world), world.backend()];
  await workOne(unable, await claimOne(unable));
  expect(await world.row(id)).toMatchObject({ state: "queued", attempts: 0, unentered: 1 });
  await world.advance(2);
  await workOne(able, await claimOne(able), stopping.signal);
  expect(await world.row(id)).toMatchObject({ state: "queued", attempts: 0, unentered: 0 });
});

test("a folder of workspaces that is gone is made again", async () => {
  await using world = await openAttemptWorld();
  await worked(world, "restart", () => ({ cells: 1 }));
  await rm(join(world.directory, "workspaces"), { recursive: true });
  const id = await worked(world, "restart", () => ({ cells: 2 }));
  expect(await world.row(id)).toMatchObject({ state: "completed", result: { cells: 2 }, attempts: 1 });
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
