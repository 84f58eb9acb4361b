import { expect, test } from "bun:test";
import { aborted, claimOne, failed, failedForGood, newTask, succeeded, workAll } from "./testing/given.ts";
import { leaseSeconds, openTaskWorld } from "./testing/task-world.ts";

test("a pending task that is cancelled never runs, and its Jobs job ends as a no-op", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  expect(await provider.cancel(jobId)).toBe("cancelled");
  expect(await workAll(provider)).toEqual([]);
  expect(await provider.get(jobId)).toMatchObject({ state: "cancelled", attempt: 0, cancelRequested: true });
  expect(await provider.cancel(jobId)).toBe("terminal");
  const [{ done }] = await world.sql`select count(*)::int as done from jobs.outcome where state = 's'`;
  expect(done).toBe(1);
});

test.each([
  ["succeeded", succeeded],
  ["failed", failed],
  ["failed for good", failedForGood],
  ["was aborted", aborted],
])("a running task with a cancel request ends as cancelled, also when it %s", async (_, outcome) => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  const backend = world.backend();
  const claim = await claimOne(backend);
  expect(await provider.cancel(jobId)).toBe("requested");
  expect(await provider.cancel(jobId)).toBe("requested");
  expect(await provider.get(jobId)).toMatchObject({ state: "running", cancelRequested: true });
  expect(await backend.pulse(claim)).toBe("cancelled");
  expect(await backend.settle(claim, outcome)).toBe("settled");
  expect(await provider.get(jobId)).toMatchObject({ state: "cancelled", result: null, error: null });
});

test("a cancelled task whose worker was killed is cancelled before another attempt can enter", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  await claimOne(world.backend());
  await provider.cancel(jobId);
  await world.advance(leaseSeconds + 1);
  expect(await workAll(provider)).toEqual([]);
  expect(await provider.get(jobId)).toMatchObject({ state: "cancelled", attempt: 1 });
});

test("a task that waits for its next attempt is cancelled like a pending one", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  const backend = world.backend();
  await backend.settle(await claimOne(backend), failed);
  expect(await provider.cancel(jobId)).toBe("cancelled");
  expect(await workAll(provider)).toEqual([]);
});

test("a claim that is given back after a cancel request ends as cancelled", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  const backend = world.backend();
  const claim = await claimOne(backend);
  await provider.cancel(jobId);
  await backend.giveBack(claim);
  expect(await provider.get(jobId)).toMatchObject({ state: "cancelled", attempt: 0 });
  expect(await workAll(provider)).toEqual([]);
});

test("a cancellation races the start: cancelled and never entered, or requested and entered", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const backend = world.backend();
  for (let round = 0; round < 20; round += 1) {
    const jobId = await provider.enqueue(newTask());
    const [claims, outcome] = await Promise.all([backend.fetch(1), provider.cancel(jobId)]);
    expect(claims).toHaveLength(outcome === "requested" ? 1 : 0);
    for (const claim of claims) await backend.settle(claim, succeeded);
    expect(await provider.get(jobId)).toMatchObject({ state: "cancelled" });
  }
});

test("a cancellation races the settlement: whoever comes first decides, and it is final", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const backend = world.backend();
  for (let round = 0; round < 20; round += 1) {
    const jobId = await provider.enqueue(newTask());
    const claim = await claimOne(backend);
    const [, outcome] = await Promise.all([backend.settle(claim, succeeded), provider.cancel(jobId)]);
    const state = outcome === "requested" ? "cancelled" : "succeeded";
    expect(await provider.get(jobId)).toMatchObject({ state });
  }
});

test("an unknown id is missing, and a text that is none never reaches the database", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  expect(await provider.cancel(crypto.randomUUID())).toBe("missing");
  expect(await provider.cancel("'; drop schema tasks")).toBe("missing");
  expect(await provider.get("nonsense")).toBeNull();
  expect(await provider.retry("nonsense")).toBe(false);
});
