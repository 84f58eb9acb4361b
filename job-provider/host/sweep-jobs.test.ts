import { expect, test } from "bun:test";
import { faultyClient } from "../../tasks/jobs/testing/faulty-client.ts";
import type { JobReference } from "../lifecycle/job-snapshot.ts";
import { killAt } from "./testing/host-process.ts";
import { type HostWorld, openHostWorld } from "./testing/host-world.ts";

/** An accepted job whose Jobs job was never enqueued, or was without anybody learning it. */
async function givenUndispatched(
  world: HostWorld,
  fault: "unsent" | "reply lost" = "unsent",
): Promise<JobReference> {
  const jobs = faultyClient(world.client());
  jobs.lose("enqueue", fault);
  const host = world.host({ jobs });
  const reference = await world.accept(host);
  await host.close(); // the dispatch has failed by then
  return reference;
}

/** Works everything that is due. */
async function workUntilEnded(world: HostWorld, reference: JobReference): Promise<void> {
  const host = world.host();
  const worker = host.startWorker();
  await Array.fromAsync(host.watch(reference));
  await worker.stop();
}

const jobsOf = async ({ sql }: HostWorld): Promise<number> =>
  (await sql`select count(*)::int as jobs from jobs.jobs`)[0].jobs;

test("a process that was killed between accepting a job and dispatching it leaves one that is worked", async () => {
  await using world = await openHostWorld();
  const submit = world.submission();
  await killAt("dispatch", { url: world.url, directory: world.directory, submit });
  const repeated = await world.host().submit(submit);
  if (repeated.status !== "accepted") throw new Error(repeated.status);
  expect(repeated.deduplicated).toBe(true);
  const { reference } = repeated;
  expect(await world.row(reference)).toMatchObject({ dispatch: 1, job_id: null });
  await world.sweep(); // the enqueue may still be under way
  expect(await jobsOf(world)).toBe(0);
  await world.advance(3);
  await workUntilEnded(world, reference);
  expect(await world.story(reference)).toEqual(["queued", "running", "completed"]);
});

test("a process that was killed inside a provider that restarts is followed by an attempt from the input", async () => {
  await using world = await openHostWorld();
  const reference = await world.accept(world.host());
  await killAt("execute", { url: world.url, directory: world.directory, work: true });
  expect(await world.story(reference)).toEqual(["queued", "running"]);
  await world.advance(31);
  await workUntilEnded(world, reference);
  expect(await world.story(reference)).toEqual([
    "queued",
    "running",
    "waiting ATTEMPT_LOST",
    "queued",
    "running",
    "completed",
  ]);
});

test("a dispatch whose reply was lost is dispatched again, by another Instance too, and runs once", async () => {
  await using world = await openHostWorld();
  const reference = await givenUndispatched(world, "reply lost");
  await world.advance(3);
  await Promise.all([world.sweep("other"), world.sweep("other")]);
  expect(await jobsOf(world)).toBe(2);
  let runs = 0;
  world.work.execute = async () => ({ cells: (runs += 1) });
  await workUntilEnded(world, reference);
  expect(runs).toBe(1);
});

test("a dispatch that was lost with its Jobs job is replaced, once", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const reference = await world.accept(host);
  await host.close();
  await world.sql.unsafe("truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome").simple();
  await world.advance(20);
  await world.sweep(); // not overdue yet
  expect(await world.row(reference)).toMatchObject({ dispatch: 1 });
  await world.advance(60);
  await Promise.all([world.sweep(), world.sweep("other")]);
  expect(await world.row(reference)).toMatchObject({ dispatch: 2, state: "queued", revision: 1 });
  await workUntilEnded(world, reference);
  expect(await world.story(reference)).toEqual(["queued", "running", "completed"]);
});

test.each([
  ["restart", ["waiting ATTEMPT_LOST", "queued", "running", "completed"]],
  ["reconcile", ["attention_required ATTEMPT_LOST"]],
] as const)(
  "an attempt of a %s provider that was lost with its Jobs job goes on by the recovery rule",
  async (provider, then) => {
    await using world = await openHostWorld();
    const reference = await world.accept(world.host(), provider);
    await killAt("execute", { url: world.url, directory: world.directory, work: true });
    await world.sql.unsafe("truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome").simple();
    await world.advance(45);
    await world.sweep(); // its lease is over, but for less than another one
    expect(await world.story(reference)).toEqual(["queued", "running"]);
    await world.advance(60);
    await world.sweep();
    if (provider === "restart") await workUntilEnded(world, reference);
    expect(await world.story(reference)).toEqual(["queued", "running", ...then]);
  },
);

test("a job whose attempts are used up has failed when the last one is lost", async () => {
  await using world = await openHostWorld();
  const reference = await world.accept(world.host());
  await world.sql`update job set max_attempts = 1`;
  await killAt("execute", { url: world.url, directory: world.directory, work: true });
  await world.sql.unsafe("truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome").simple();
  await world.advance(120);
  await world.sweep();
  expect((await world.story(reference)).at(-1)).toBe("failed ATTEMPTS_EXHAUSTED");
});

test("a dispatch number that an older life of the records used is passed over", async () => {
  await using world = await openHostWorld();
  const reference = await givenUndispatched(world);
  await world.client().enqueue({
    queue: "jobs",
    kind: "lenso.job",
    payload: { record: reference.jobId, dispatch: 1, from: "another life" },
    idempotency_key: `${reference.jobId}/1`,
    available_at: "2020-01-01T00:00:00Z",
    max_attempts: 1,
  });
  await world.advance(3);
  await world.sweep();
  expect(await world.row(reference)).toMatchObject({ dispatch: 2, job_id: expect.any(String) });
  await workUntilEnded(world, reference);
  expect(await world.story(reference)).toEqual(["queued", "running", "completed"]);
});

test("no answer of the Jobs capability is no evidence against a job", async () => {
  await using world = await openHostWorld();
  const jobs = faultyClient(world.client());
  const host = world.host({ jobs });
  const reference = await world.accept(host);
  await host.close();
  await world.sql.unsafe("truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome").simple();
  await world.advance(120);
  jobs.lose("inspect", "unsent");
  await world.sweep(jobs);
  expect(jobs.count("inspect")).toBe(1);
  expect(world.told).toHaveLength(1);
  expect(await world.row(reference)).toMatchObject({ dispatch: 1, state: "queued" });
});
