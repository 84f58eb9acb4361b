import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { JobReference } from "../../lifecycle/job-snapshot.ts";
import type { JobHost } from "../job-host.ts";
import { killAt } from "../testing/host-process.ts";
import { type HostWorld, openHostWorld } from "../testing/host-world.ts";

/** A job whose attempt was interrupted after it had published a mesh, and that asks what became of it. */
async function givenQuestion(
  world: HostWorld,
  host: JobHost,
): Promise<{ readonly reference: JobReference; readonly revision: number }> {
  const entered = Promise.withResolvers<void>();
  world.work.execute = async ({ workspace, publishArtifact, signal }) => {
    await workspace.write("mesh.txt", "half a bridge");
    await publishArtifact({ role: "mesh", path: "mesh.txt", mediaType: "text/plain" });
    entered.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    throw new Error("interrupted");
  };
  const reference = await world.accept(host, "reconcile");
  const worker = host.startWorker();
  await entered.promise;
  await worker.stop({ abort: true });
  const job = await host.get(reference);
  if (job?.state !== "attention_required") throw new Error("the job does not ask for attention");
  return { reference, revision: job.revision };
}

test("a person completes a job, with a result that the schema takes and artifacts that are there", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const { reference, revision } = await givenQuestion(world, host);
  const complete = (result: unknown) =>
    host.resolveAttention(reference, { expectedRevision: revision, action: "complete", result });
  expect(await complete({ cells: "many" })).toMatchObject({
    code: "RESULT_INVALID",
    issues: [{ pointer: "/cells" }],
  });
  expect(await complete({ cells: 8 })).toEqual({ ok: true, revision: revision + 1 });
  expect(await host.result(reference)).toEqual({ state: "completed", value: { cells: 8 } });
  expect((await host.artifacts(reference))?.map(({ path }) => path)).toEqual(["mesh.txt"]);
  expect(await complete({ cells: 8 })).toEqual({ ok: false, code: "JOB_TERMINAL" });
});

test("a completion by a person is refused when an artifact is no longer in the store", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const { reference, revision } = await givenQuestion(world, host);
  await rm(join(world.directory, "artifacts"), { recursive: true });
  expect(
    await host.resolveAttention(reference, {
      expectedRevision: revision,
      action: "complete",
      result: { cells: 8 },
    }),
  ).toEqual({ ok: false, code: "ARTIFACT_MISSING" });
  expect(await host.get(reference)).toMatchObject({ state: "attention_required", revision });
});

test("a person fails or cancels a job, once, and only at the revision that was seen", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const [failing, cancelling] = [await givenQuestion(world, host), await givenQuestion(world, host)];
  for (const [{ reference, revision }, action, result] of [
    [failing, "fail", { state: "failed", code: "RESOLVED_AS_FAILED" }],
    [cancelling, "cancel", { state: "cancelled" }],
  ] as const) {
    const resolve = (expectedRevision: number) =>
      host.resolveAttention(reference, { expectedRevision, action });
    expect(await resolve(revision - 1)).toEqual({ ok: false, code: "REVISION_MISMATCH" });
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => resolve(revision)));
    expect(outcomes.filter(({ ok }) => ok)).toEqual([{ ok: true, revision: revision + 1 }]);
    expect(outcomes.filter(({ ok }) => !ok)).toEqual(Array(4).fill({ ok: false, code: "JOB_TERMINAL" }));
    expect(await host.result(reference)).toEqual(result);
  }
});

test("a job that is queued again runs once more from its input, also when its attempts were used up", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const { reference, revision } = await givenQuestion(world, host);
  await world.sql`update job set max_attempts = attempts`;
  world.work.execute = async ({ workspace }) => ({ cells: (await workspace.list()).length });
  expect(await host.resolveAttention(reference, { expectedRevision: revision, action: "requeue" })).toEqual({
    ok: true,
    revision: revision + 1,
  });
  const worker = host.startWorker();
  await Array.fromAsync(host.watch(reference));
  await worker.stop();
  expect(await host.result(reference)).toEqual({ state: "completed", value: { cells: 2 } });
  expect(await host.artifacts(reference)).toEqual([]);
});

test("a process that was killed inside a provider with external effects leaves a question, and nothing runs again", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const reference = await world.accept(host, "reconcile");
  await killAt("execute", { url: world.url, directory: world.directory, work: true });
  let runs = 0;
  world.work.execute = async () => ({ cells: (runs += 1) });
  await world.advance(120);
  const worker = world.host({ sweepIntervalSeconds: 1 }).startWorker();
  for await (const event of host.watch(reference))
    if (event.type === "job-lifecycle-changed" && event.state === "attention_required") break;
  await worker.stop();
  expect(await host.result(reference)).toEqual({ state: "attention_required", code: "ATTEMPT_LOST" });
  expect(runs).toBe(0);
});

test("a job that asks nobody is not to be resolved, and a decision that is none is refused", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const reference = await world.accept(host);
  expect(await host.resolveAttention(reference, { expectedRevision: 1, action: "cancel" })).toEqual({
    ok: false,
    code: "ATTENTION_NOT_REQUIRED",
  });
  const nobody = { hostId: "test", jobId: "00000000-0000-7000-8000-000000000000" };
  expect(await host.resolveAttention(nobody, { expectedRevision: 1, action: "fail" })).toEqual({
    ok: false,
    code: "JOB_NOT_FOUND",
  });
  for (const request of [
    { expectedRevision: 1, action: "retry" },
    { expectedRevision: 1, action: "fail", result: 1 },
    { expectedRevision: 1, action: "complete" },
    { expectedRevision: 0, action: "fail" },
  ])
    await expect(host.resolveAttention(reference, request as never)).rejects.toThrow(TypeError);
});
