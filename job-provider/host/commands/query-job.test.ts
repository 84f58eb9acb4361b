import { expect, test } from "bun:test";
import { JobContentMismatch } from "../../ports/job-content.ts";
import { openHostWorld } from "../testing/host-world.ts";

test("a query gets the validated input, the snapshot and the artifacts, and its result is validated", async () => {
  await using world = await openHostWorld();
  world.work.execute = async ({ workspace, publishArtifact }) => {
    await workspace.write("out.txt", "hexagons");
    await publishArtifact({ role: "mesh", path: "out.txt", mediaType: "text/plain" });
    return { cells: 6 };
  };
  const host = world.host();
  const reference = await world.accept(host);
  const ask = (question: unknown) => host.query(reference, "about", { value: { question } });
  expect(await ask("how far?")).toEqual({
    ok: true,
    value: { state: "queued", answer: "how far?", texts: [] },
  });
  const worker = host.startWorker();
  expect((await Array.fromAsync(host.watch(reference))).at(-1)).toMatchObject({ state: "completed" });
  await worker.stop();
  expect(await ask("and now?")).toEqual({
    ok: true,
    value: { state: "completed", answer: "and now?", texts: ["hexagons"] },
  });
  expect(await ask("wrong")).toEqual({ ok: false, code: "RESULT_INVALID" });
  expect(await ask("throw")).toEqual({ ok: false, code: "PROVIDER_EXECUTION_FAILED" });
  expect(world.told).toMatchObject([
    { during: "query about", code: "RESULT_INVALID", providerId: expect.any(String) },
    { during: "query about", cause: { message: ["CANARY", "query"].join("-") } },
  ]);
  expect(await ask(7)).toMatchObject({ code: "INPUT_INVALID", issues: [{ pointer: "/question" }] });
  const events = await world.story(reference);
  expect(events).toEqual(["queued", "running", "completed"]);
});

test("artifacts are verified while they are read, also those of a store that does not look", async () => {
  await using world = await openHostWorld();
  world.work.execute = async ({ workspace, publishArtifact }) => {
    await workspace.write("out.txt", "true");
    await publishArtifact({ role: "mesh", path: "out.txt", mediaType: "text/plain" });
    return { cells: 1 };
  };
  const host = world.host();
  const reference = await world.accept(host);
  const worker = host.startWorker();
  await Array.fromAsync(host.watch(reference));
  await worker.stop();
  const read = async () => new Blob(["evil"]).stream();
  const blind = world.host({ artifacts: { ...world.artifacts, read } });
  const [artifact] = (await blind.artifacts(reference)) ?? [];
  await expect(Array.fromAsync(artifact?.read() ?? [])).rejects.toBeInstanceOf(JobContentMismatch);
  const asked = blind.query(reference, "about", { value: { question: "what is in it?" } });
  expect(await asked).toEqual({ ok: false, code: "PROVIDER_EXECUTION_FAILED" });
});

test("a query of no job, of no provider or of no such name is refused", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const reference = await world.accept(host);
  const nobody = { hostId: "test", jobId: "00000000-0000-7000-8000-000000000000" };
  expect(await host.query(nobody, "about")).toEqual({ ok: false, code: "JOB_NOT_FOUND" });
  expect(await host.query(reference, "replay-safe")).toEqual({ ok: false, code: "OPERATION_NOT_FOUND" });
  const without = world.host({ providers: [] });
  expect(await without.query(reference, "about")).toEqual({ ok: false, code: "PROVIDER_NOT_FOUND" });
  await expect(
    host.query(reference, "about", { signal: AbortSignal.abort(), value: { question: "" } }),
  ).rejects.toThrow();
});
