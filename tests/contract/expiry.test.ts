import { describe, expect, test } from "bun:test";
import { backends, open, openPostgres, postgresBackends } from "./support/backends.ts";
import { until } from "./support/contract-database.ts";
import {
  at,
  claimOne,
  domain,
  givenJob,
  inspectJob,
  jobRequest,
  leaseOf,
  times,
  valueOf,
  valuesOf,
} from "./support/given.ts";

describe.each(backends)("expired leases, %s", (backend) => {
  test("a claim takes an expired lease back under a new token, one attempt more and lease_expired", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    await bundle.clock.advance(31_000);
    const again = await claimOne(bundle);
    expect(again).toMatchObject({ job_id, attempt: 2, lease_expires_at: at(61) });
    expect(again.lease_token === lease.lease_token).toBe(false);
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "running",
      attempts: 2,
      available_at: at(30),
      lease_expires_at: at(61),
      last_failure_code: "lease_expired",
      created_at: at(0),
      updated_at: at(31),
    });
  });

  test("lease_expired replaces the caller's code", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { state: "retrying" });
    await bundle.clock.advance(10_000);
    await claimOne(bundle);
    await bundle.clock.advance(30_000);
    await bundle.maintain();
    expect(await inspectJob(bundle, job_id)).toMatchObject({ last_failure_code: "lease_expired" });
  });

  test("maintenance queues an expired job again, due since its lease's expiry", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { state: "running" });
    await bundle.clock.advance(29_999.999);
    await bundle.maintain();
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running" });
    await bundle.clock.advance(2000.001);
    await bundle.maintain();
    expect(await inspectJob(bundle, job_id)).toEqual({
      job_id,
      queue: "mail",
      kind: "mail.send",
      status: "queued",
      attempts: 1,
      max_attempts: 3,
      available_at: at(30),
      lease_expires_at: null,
      last_failure_code: "lease_expired",
      created_at: at(0),
      updated_at: at(32),
    });
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 2 });
  });

  test.each(["maintenance", "a claim of that queue"])("%s fails an exhausted job for good", async (by) => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running", max_attempts: 1 });
    await bundle.clock.advance(33_000);
    if (by === "maintenance") await bundle.maintain();
    else expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    expect(await inspectJob(bundle, job_id)).toEqual({
      job_id,
      queue: "mail",
      kind: "mail.send",
      status: "failed",
      attempts: 1,
      max_attempts: 1,
      available_at: at(0),
      lease_expires_at: null,
      last_failure_code: "attempts_exhausted",
      created_at: at(0),
      updated_at: at(33),
    });
    expect(await bundle.worker.complete(lease)).toEqual(domain("invalid_lease"));
    const failure = { ...lease, failure_code: "attempts_exhausted", retryable: false };
    expect(await bundle.worker.fail(failure)).toEqual(domain("invalid_lease"));
  });

  test("a claim of another queue leaves an expired job alone", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { state: "expired", max_attempts: 1 });
    expect(await bundle.worker.claim({ queue: "other" })).toEqual(domain("no_job_available"));
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running", lease_expires_at: at(30) });
  });

  test("a job with two attempts runs twice and then fails, whoever finds it", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { state: "expired", max_attempts: 2 });
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 2 });
    await bundle.clock.advance(30_000);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "failed",
      attempts: 2,
      last_failure_code: "attempts_exhausted",
    });
  });

  test("200 exhausted jobs hide neither an expired one with attempts left nor a due one from a claim", async () => {
    await using bundle = await open(backend);
    const exhausted = await givenRunning(bundle, 200, 1);
    const retryable = await givenJob(bundle, { state: "running", max_attempts: 2 });
    await bundle.clock.advance(30_000);
    const due = await givenJob(bundle);

    const first = await valuesOf([
      bundle.worker.claim({ queue: "mail" }),
      bundle.worker.claim({ queue: "mail" }),
    ]);
    expect(new Set(first.map((each) => each.job_id))).toEqual(new Set([retryable.job_id, due.job_id]));
    const retired = (await statesOf(bundle, exhausted)).filter((state) => state === "failed").length;
    expect(retired).toBeGreaterThan(0);
    expect(retired).toBeLessThanOrEqual(2 * 64);
  });

  test("one claim retires 64 exhausted jobs at most, and claims go on until none is left", async () => {
    await using bundle = await open(backend);
    const exhausted = await givenRunning(bundle, 150, 1);
    await bundle.clock.advance(30_000);
    const retired = async () =>
      (await statesOf(bundle, exhausted)).filter((each) => each === "failed").length;
    let before = 0;
    for (let claims = 0; before < 150; claims += 1) {
      expect(claims).toBeLessThan(10);
      expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
      const now = await retired();
      expect(now - before).toBeGreaterThan(0);
      expect(now - before).toBeLessThanOrEqual(64);
      before = now;
    }
  });

  test("one round of maintenance takes back any number of jobs, of all queues", async () => {
    await using bundle = await open(backend);
    const jobs = [
      ...(await givenRunning(bundle, 150, 1)),
      ...(await givenRunning(bundle, 150, 2)),
      ...(await givenRunning(bundle, 20, 1, "other")),
    ];
    await bundle.clock.advance(30_000);
    await bundle.maintain();
    const states = await statesOf(bundle, jobs);
    expect(states.filter((state) => state === "failed")).toHaveLength(170);
    expect(states.filter((state) => state === "queued")).toHaveLength(150);
  });

  test("expired jobs of a queue that is no longer configured are taken back all the same", async () => {
    await using bundle = await open(backend);
    const retryable = await givenJob(bundle, { state: "running", queue: "other" });
    const exhausted = await givenJob(bundle, { state: "running", queue: "other", max_attempts: 1 });
    await bundle.restart({ queues: ["mail"] });
    expect(await bundle.worker.claim({ queue: "other" })).toEqual(domain("invalid_queue"));
    await bundle.clock.advance(30_000);
    await bundle.maintain();
    expect(await inspectJob(bundle, retryable.job_id)).toMatchObject({
      queue: "other",
      status: "queued",
      available_at: at(30),
      last_failure_code: "lease_expired",
    });
    expect(await inspectJob(bundle, exhausted.job_id)).toMatchObject({ queue: "other", status: "failed" });
    await bundle.restart();
    expect(await claimOne(bundle, "other")).toMatchObject({ job_id: retryable.job_id, attempt: 2 });
  });

  test("a lease outlives a restart of its host", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    await bundle.restart();
    expect(await valueOf(bundle.worker.renew(lease))).toEqual({ lease_expires_at: at(30) });
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "succeeded" });
  });
});

describe.each(postgresBackends)("the maintenance timer, %s", (backend) => {
  test("takes expired jobs back without anybody asking, of all queues", async () => {
    await using bundle = await openPostgres(backend, {}, 20);
    const retryable = await givenJob(bundle, { state: "running" });
    const exhausted = await givenJob(bundle, { state: "running", queue: "other", max_attempts: 1 });
    await bundle.clock.advance(30_000);
    const states = async () => statesOf(bundle, [retryable, exhausted]);
    await until(async () => !(await states()).includes("running"));
    expect(await states()).toEqual(["queued", "failed"]);
  });
});

type Opened = Awaited<ReturnType<typeof open>>;

async function givenRunning(bundle: Opened, count: number, max_attempts: number, queue = "mail") {
  await valuesOf(times(count, () => bundle.producer.enqueue(jobRequest({ max_attempts, queue }))));
  const claims = await valuesOf(times(count, () => bundle.worker.claim({ queue })));
  return claims.map((claim) => leaseOf(claim));
}

async function statesOf(bundle: Opened, jobs: readonly { readonly job_id: string }[]) {
  const states = await valuesOf(jobs.map(({ job_id }) => bundle.observer.inspect({ job_id })));
  return states.map((state) => state.status);
}
