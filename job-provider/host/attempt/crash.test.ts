import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { leaseSeconds } from "../testing/job-host-composition.ts";
import { type AttemptWorld, openAttemptWorld } from "./testing/attempt-world.ts";
import type { Scenario } from "./testing/worker-process.ts";

/** Runs jobs in a process of their own until each is at its point, and kills it there. */
async function killedAt(world: AttemptWorld, scenarios: ReadonlyMap<string, Scenario>): Promise<void> {
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, "testing/worker-process.ts"),
      world.url,
      world.directory,
      JSON.stringify(Object.fromEntries(scenarios)),
    ],
    { stdout: "pipe", stderr: "inherit" },
  );
  let reached = "";
  for await (const chunk of child.stdout) {
    reached += new TextDecoder().decode(chunk);
    if (reached.split("\n").length > scenarios.size) break;
  }
  child.kill("SIGKILL");
  await child.exited;
  expect(reached.trim().split("\n")).toHaveLength(scenarios.size);
}

test("a worker that is killed at any point leaves jobs that end as their providers say, and nothing half visible", async () => {
  await using world = await openAttemptWorld();
  const seen = new Map<string, unknown[]>();
  const next: Parameters<AttemptWorld["accept"]>[1] = async ({ resume }, services) => {
    const { jobId } = services.job;
    const before = [resume?.metadata.step, ...(await world.published(jobId))];
    seen.set(jobId, before);
    await services.workspace.write("second.vtk", "second");
    await services.publishArtifact({ role: "mesh", path: "second.vtk", mediaType: "model/vtk" });
    return { cells: 2 };
  };
  const given = [
    ["execute", "restart"],
    ["execute", "reconcile"],
    ["resumable", "checkpoint"],
    ["put", "restart"],
    ["seal", "checkpoint"],
    ["complete", "restart"],
  ] as const;
  const ids: string[] = [];
  for (const [, provider] of given) ids.push(await world.accept(provider, next));
  await killedAt(world, new Map(ids.map((id, index) => [id, given[index]![0]])));
  const [execute, parked, resumable, put, seal, complete] = ids as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const completed = await world.row(complete);
  expect(completed).toMatchObject({ state: "completed", result: { cells: 1 } });

  await world.advance(leaseSeconds + 1);
  const worker = world.worker({ concurrency: 4 });
  await world.untilStates([execute, resumable, put, seal], "completed");
  await world.untilStates([parked], "attention_required");
  await worker.stop();

  const again = ["queued", "running", "waiting ATTEMPT_LOST", "queued", "running", "completed"];
  for (const id of [execute, resumable, put, seal]) {
    expect(await world.story(id)).toEqual(again);
    expect(await world.row(id)).toMatchObject({ result: { cells: 2 }, attempts: 2 });
  }
  expect([execute, put, seal].map((id) => seen.get(id))).toEqual([[undefined], [undefined], [undefined]]);
  expect(seen.get(resumable)).toEqual([1, "mesh before.vtk"]);
  expect(await world.published(put)).toEqual(["mesh second.vtk"]);
  expect(await world.published(resumable)).toEqual(["mesh before.vtk", "mesh second.vtk"]);
  expect(await world.row(seal)).toMatchObject({ resumed_from: null });
  expect(await world.story(parked)).toEqual(["queued", "running", "attention_required ATTEMPT_LOST"]);
  expect(await world.published(parked)).toEqual(["mesh first.vtk"]);
  expect(await world.row(complete)).toEqual(completed); // its second delivery found nothing to do
  expect(world.told).toEqual([]);
  const [{ open }] =
    await world.sql`select (select count(*) from jobs.ready) + (select count(*) from jobs.lease) as open`;
  expect(Number(open)).toBe(0);
  // The dead process's workspaces stay for a sweep; this one's are gone.
  expect(await readdir(await world.parts().workspaces())).toHaveLength(5);
});
