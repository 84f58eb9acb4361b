import { expect, test } from "bun:test";
import { faultyClient } from "./testing/faulty-client.ts";
import { claimOne, newTask, workAll } from "./testing/given.ts";
import { leaseSeconds, openTaskWorld, type TaskWorld } from "./testing/task-world.ts";

/** Ends the Jobs job of a record behind its back. */
async function endCarrier(world: TaskWorld): Promise<void> {
  const claimed = await world.client("other").claim({ queue: "tasks" });
  if (!claimed.ok) throw new Error("no carrier to end");
  const { job_id, lease_token } = claimed.value;
  await world.client("other").complete({ job_id, lease_token });
}

test("a pending record whose Jobs job ended is dispatched anew", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  await endCarrier(world);
  await world.sweep();
  expect(await world.row(jobId)).toMatchObject({ dispatch: 1 }); // not yet overdue
  await world.advance(leaseSeconds + 1);
  await world.sweep();
  expect(await world.row(jobId)).toMatchObject({ state: "pending", dispatch: 2, attempt: 0 });
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test("a record whose Jobs job is unknown is dispatched anew", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  await world.sql.unsafe("truncate jobs.jobs, jobs.ready");
  await world.advance(leaseSeconds + 1);
  await world.sweep();
  expect(await workAll(world.provider())).toEqual([jobId]);
});

/** A record whose worker died and whose Jobs job can no longer be delivered. */
async function givenOrphan(world: TaskWorld, maxAttempts: number): Promise<string> {
  const jobId = await world.provider().enqueue(newTask({ maxAttempts }));
  const claim = await claimOne(world.backend());
  const { fence, leaseToken } = claim;
  await world.client().complete({ job_id: fence.jobId, lease_token: leaseToken });
  return jobId;
}

test("a running record without a deliverable Jobs job gets its next attempt", async () => {
  await using world = await openTaskWorld();
  const jobId = await givenOrphan(world, 2);
  await world.advance(leaseSeconds + 1);
  await world.sweep();
  expect(await world.row(jobId)).toMatchObject({ state: "running", dispatch: 1 }); // one lease of patience
  await world.advance(leaseSeconds + 1);
  await world.sweep();
  expect(await world.row(jobId)).toMatchObject({ state: "pending", dispatch: 2, attempt: 1 });
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test("a running record without a deliverable Jobs job fails when its attempts are spent", async () => {
  await using world = await openTaskWorld();
  const jobId = await givenOrphan(world, 1);
  await world.advance(2 * leaseSeconds + 1);
  await world.sweep();
  expect(await world.provider().get(jobId)).toMatchObject({ state: "failed", error: "aborted" });
  expect(await workAll(world.provider())).toEqual([]);
});

test("a cancelled record whose worker died is cancelled by the sweep", async () => {
  await using world = await openTaskWorld();
  const jobId = await givenOrphan(world, 3);
  expect(await world.provider().cancel(jobId)).toBe("requested");
  await world.advance(2 * leaseSeconds + 1);
  await world.sweep();
  expect(await world.provider().get(jobId)).toMatchObject({ state: "cancelled" });
});

test("an inspection without an answer changes nothing", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  await endCarrier(world);
  await world.advance(leaseSeconds + 1);
  const jobs = faultyClient(world.client());
  jobs.lose("inspect", "unsent", 5);
  const before = await world.row(jobId);
  await world.sweep({ jobs });
  expect(await world.row(jobId)).toMatchObject({ ...before, look_at: expect.anything() });
  expect(jobs.count("inspect")).toBe(1);
  jobs.heal();
  await world.advance(leaseSeconds + 5);
  await world.sweep({ jobs });
  expect(await world.row(jobId)).toMatchObject({ dispatch: 2 });
});

/** Well-formed, and never given to a job. */
const unknownJob = `job_${"A".repeat(24)}`;

test("a healthy backlog is looked at in turn and hides nothing", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  for (let batch = 0; batch < 10; batch += 1)
    await Promise.all(Array.from({ length: 30 }, () => provider.enqueue(newTask())));
  await endCarrier(world);
  await world.advance(leaseSeconds + 1);
  await world.sql`update task set look_at = look_at + interval '1 s' where id = (select max(id::text)::uuid from task)`;
  const last = (await world.sql`select job_id from task order by look_at desc limit 1`)[0].job_id;
  await world.sql`update task set job_id = ${unknownJob} where job_id = ${last}`;
  for (let sweep = 0; sweep < 4; sweep += 1) await world.sweep();
  const rows = await world.sql`select dispatch, count(*)::int as records from task group by 1 order by 1`;
  expect([...rows]).toEqual([
    { dispatch: 1, records: 298 },
    { dispatch: 2, records: 2 },
  ]);
});

test("a dispatch whose key is taken gets the next number", async () => {
  await using world = await openTaskWorld();
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", "unsent");
  const jobId = await world.provider({ jobs }).enqueue(newTask());
  for (const dispatch of [1, 2]) {
    await world.client().enqueue({
      queue: "unused",
      kind: "other",
      payload: {},
      idempotency_key: `${jobId}/${dispatch}`,
      available_at: "2026-01-01T00:00:00Z",
      max_attempts: 1,
    });
  }
  await world.advance(3);
  await world.sweep();
  expect(await world.row(jobId)).toMatchObject({ dispatch: 3, job_id: expect.any(String) });
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test("many sweeps at once dispatch each record and run it once", async () => {
  await using world = await openTaskWorld();
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", "unsent", 40);
  const provider = world.provider({ jobs });
  const ids = await Promise.all(Array.from({ length: 40 }, () => provider.enqueue(newTask())));
  await world.advance(3);
  await Promise.all([
    world.sweep(),
    world.sweep({ as: "other" }),
    world.sweep(),
    world.sweep({ as: "other" }),
  ]);
  expect((await workAll(world.provider())).sort()).toEqual(ids.sort());
});

test("many sweeps at once replace a lost dispatch once", async () => {
  await using world = await openTaskWorld();
  const jobId = await givenOrphan(world, 3);
  await world.advance(2 * leaseSeconds + 1);
  await Promise.all([world.sweep(), world.sweep({ as: "other" }), world.sweep()]);
  expect(await world.row(jobId)).toMatchObject({ dispatch: 2 });
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test("a lease that was prolonged after the sweep looked is left alone", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  const backend = world.backend();
  const claim = await claimOne(backend);
  const jobs = faultyClient(world.client());
  await world.sql`update task set lease_until = lease_until - interval '1 day', look_at = now() - interval '1 day'`;
  jobs.before("inspect", async () => {
    await world.sql`update task set lease_until = lenso_test_clock.now() + interval '20 s'`;
    await world.client().complete({ job_id: claim.fence.jobId, lease_token: claim.leaseToken });
  });
  await world.sweep({ jobs });
  expect(jobs.count("inspect")).toBe(1);
  expect(await world.row(jobId)).toMatchObject({ state: "running", dispatch: 1 });
});
