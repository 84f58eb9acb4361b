import { expect, test } from "bun:test";
import { faultyClient } from "./testing/faulty-client.ts";
import { claimOne, failed, newTask, succeeded, workAll } from "./testing/given.ts";
import { leaseSeconds, openTaskWorld, type TaskWorld } from "./testing/task-world.ts";

/** A task whose Jobs job was never enqueued. */
async function givenUndispatched(world: TaskWorld, changes = {}): Promise<string> {
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", "unsent");
  return world.provider({ jobs }).enqueue(newTask(changes));
}

test("a task that was recorded and not dispatched is dispatched by the sweep", async () => {
  await using world = await openTaskWorld();
  const jobId = await givenUndispatched(world);
  expect(await world.row(jobId)).toMatchObject({ state: "pending", dispatch: 1, job_id: null });
  await expect(world.backend().fetch(1)).resolves.toEqual([]);
  await world.sweep(); // the enqueue may still be under way
  expect(await world.row(jobId)).toMatchObject({ job_id: null });
  await world.advance(3);
  await world.sweep();
  expect(await world.row(jobId)).toMatchObject({ dispatch: 1, job_id: expect.stringContaining("job_") });
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test("the first sweep of a worker dispatches what is due, so a batch works it", async () => {
  await using world = await openTaskWorld();
  const jobId = await givenUndispatched(world);
  await world.advance(3);
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test("a dispatch whose answer was lost is known by its first delivery", async () => {
  await using world = await openTaskWorld();
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", "reply lost");
  const jobId = await world.provider({ jobs }).enqueue(newTask());
  expect(await world.row(jobId)).toMatchObject({ job_id: null });
  expect(await workAll(world.provider())).toEqual([jobId]);
  expect(await world.row(jobId)).toMatchObject({ state: "succeeded", job_id: expect.any(String) });
});

test("a dispatch that is enqueued again by the same Instance is the same Jobs job", async () => {
  await using world = await openTaskWorld();
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", "reply lost");
  const jobId = await world.provider({ jobs }).enqueue(newTask());
  await world.advance(3);
  await world.sweep();
  const [{ count }] = await world.sql`select count(*)::int from jobs.jobs`;
  expect(count).toBe(1);
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test("a dispatch that two Instances enqueued runs once", async () => {
  await using world = await openTaskWorld();
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", "reply lost");
  const jobId = await world.provider({ jobs }).enqueue(newTask());
  await world.advance(3);
  await world.sweep({ as: "other" });
  const [{ count }] = await world.sql`select count(*)::int from jobs.jobs`;
  expect(count).toBe(2);
  expect(await workAll(world.provider())).toEqual([jobId]);
  const [{ done }] = await world.sql`select count(*)::int as done from jobs.outcome where state = 's'`;
  expect(done).toBe(2); // the other one was completed as a no-op
});

test("two deliveries of one dispatch that start at the same time run once", async () => {
  await using world = await openTaskWorld();
  const jobs = faultyClient(world.client());
  const other = faultyClient(world.client("other"));
  const provider = world.provider({ jobs });
  const backends = [world.backend(), world.backend({ as: "other" })] as const;
  for (let round = 0; round < 10; round += 1) {
    jobs.lose("enqueue", "reply lost");
    await provider.enqueue(newTask());
    await world.advance(3);
    other.lose("enqueue", "reply lost");
    await world.sweep({ jobs: other });
    const claims = (await Promise.all(backends.map((backend) => backend.fetch(2)))).flat();
    expect(claims).toHaveLength(1);
    for (const claim of claims) await backends[0].settle(claim, succeeded);
  }
});

test("a claim whose answer was lost costs the record no attempt", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask({ maxAttempts: 1 }));
  const jobs = faultyClient(world.client());
  jobs.lose("claim", "reply lost");
  await expect(world.backend({ jobs }).fetch(1)).rejects.toThrow("unavailable");
  await world.advance(leaseSeconds + 1);
  const claim = await claimOne(world.backend());
  expect(claim).toMatchObject({ jobId, attempt: 1, fence: { delivery: 2 } });
});

test("a worker that died after the start loses its claim to the next delivery", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  const backend = world.backend();
  const dead = await claimOne(backend);
  await world.advance(leaseSeconds + 1);
  const next = await claimOne(backend);
  expect(next).toMatchObject({ jobId, attempt: 2 });
  const before = await world.row(jobId);
  expect(await backend.pulse(dead)).toBe("lost");
  expect(await backend.settle(dead, succeeded)).toBe("lost");
  await backend.giveBack(dead);
  expect(await world.row(jobId)).toEqual(before);
  expect(await backend.settle(next, succeeded)).toBe("settled");
});

test("a worker that died in the last attempt leaves a failed task that never runs again", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask({ maxAttempts: 1 }));
  await claimOne(world.backend());
  await world.advance(leaseSeconds + 1);
  expect(await workAll(world.provider())).toEqual([]);
  expect(await world.provider().get(jobId)).toMatchObject({ state: "failed", error: "aborted", attempt: 1 });
});

test("a record that is settled stays so when its completion is never sent", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  const jobs = faultyClient(world.client());
  jobs.lose("complete", "unsent");
  const backend = world.backend({ jobs });
  expect(await backend.settle(await claimOne(backend), succeeded)).toBe("settled");
  expect(world.told).toHaveLength(1);
  await world.advance(leaseSeconds + 1);
  const before = await world.row(jobId);
  expect(await workAll(provider)).toEqual([]);
  expect(await world.row(jobId)).toEqual(before);
  const [{ done }] = await world.sql`select count(*)::int as done from jobs.outcome where state = 's'`;
  expect(done).toBe(1); // healed by the delivery that found nothing to do
});

test("a settlement that is asked for again answers the same", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  const backend = world.backend();
  const claim = await claimOne(backend);
  expect(await backend.settle(claim, failed)).toBe("settled");
  expect(await backend.settle(claim, failed)).toBe("settled");
  expect(await world.row(jobId)).toMatchObject({ state: "pending", dispatch: 2, attempt: 1 });
  expect(await workAll(provider)).toEqual([jobId]);
  expect(await backend.settle(claim, failed)).toBe("lost");
});

test.each(["unsent", "reply lost"] as const)("a retry whose dispatch was %s runs once", async (fault) => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", fault);
  const backend = world.backend({ jobs });
  expect(await backend.settle(await claimOne(backend), failed)).toBe("settled");
  expect(await world.row(jobId)).toMatchObject({ state: "pending", dispatch: 2, job_id: null });
  await world.advance(3);
  await world.sweep({ as: "other" });
  expect(await workAll(provider)).toEqual([jobId]);
  expect(await provider.get(jobId)).toMatchObject({ state: "succeeded", attempt: 2 });
});

test("an attempt that is given back keeps its number and is due at once", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask({ maxAttempts: 2 }));
  const backend = world.backend();
  for (let round = 0; round < 5; round += 1) {
    const claim = await claimOne(backend);
    expect(claim).toMatchObject({ jobId, attempt: 1, fence: { dispatch: round + 1 } });
    await backend.giveBack(claim);
    await backend.giveBack(claim);
  }
  expect(await world.row(jobId)).toMatchObject({ state: "pending", attempt: 0 });
});

test("a start whose record cannot be written is handed on", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  const backend = world.backend();
  await world.sql.unsafe("alter table task rename to task_away");
  await expect(backend.fetch(1)).rejects.toThrow("42P01");
  await world.sql.unsafe("alter table task_away rename to task");
  await world.advance(2); // the back-off of the Jobs job, not its lease
  expect(await claimOne(backend)).toMatchObject({ jobId, attempt: 1 });
});
