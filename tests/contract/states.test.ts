import { describe, expect, test } from "bun:test";
import { backends, open } from "./support/backends.ts";
import { at, claimOne, domain, givenJob, inspectJob, jobRequest, leaseOf, valueOf } from "./support/given.ts";

describe.each(backends)("the states of a job, %s", (backend) => {
  test("a new job is queued, without an attempt, at the later of the time asked for and now", async () => {
    await using bundle = await open(backend);
    await bundle.clock.advance(5000);
    const past = await givenJob(bundle, { available_at: "2001-01-01T00:00:00Z" });
    const future = await givenJob(bundle, { available_at: at(7.5), max_attempts: 7 });
    expect(await inspectJob(bundle, past.job_id)).toEqual({
      job_id: past.job_id,
      queue: "mail",
      kind: "mail.send",
      status: "queued",
      attempts: 0,
      max_attempts: 3,
      available_at: at(5),
      lease_expires_at: null,
      last_failure_code: null,
      created_at: at(5),
      updated_at: at(5),
    });
    expect(await inspectJob(bundle, future.job_id)).toMatchObject({
      status: "queued",
      max_attempts: 7,
      available_at: at(7.5),
      created_at: at(5),
      updated_at: at(5),
    });
  });

  test("a claim makes a due job running: one attempt more, a lease from now, its run time kept", async () => {
    await using bundle = await open(backend);
    const payload = { to: "ada", parts: [1, null, { deep: true }] };
    const { job_id } = await givenJob(bundle, { payload });
    await bundle.clock.advance(2000.001);
    const claim = await claimOne(bundle);
    const { lease_token, ...rest } = claim;
    expect(lease_token).toMatch(/^job_lease_[A-Za-z0-9_-]{43}$/);
    expect(rest).toEqual({
      job_id,
      queue: "mail",
      kind: "mail.send",
      payload,
      attempt: 1,
      max_attempts: 3,
      lease_expires_at: at(32.000001),
    });
    expect(await inspectJob(bundle, job_id)).toEqual({
      job_id,
      queue: "mail",
      kind: "mail.send",
      status: "running",
      attempts: 1,
      max_attempts: 3,
      available_at: at(0),
      lease_expires_at: at(32.000001),
      last_failure_code: null,
      created_at: at(0),
      updated_at: at(2.000001),
    });
  });

  test("a renewal moves the expiry to now plus the lease, and counts as a change", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    await bundle.clock.advance(29_999.999);
    expect(await valueOf(bundle.worker.renew(lease))).toEqual({ lease_expires_at: at(59.999999) });
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "running",
      attempts: 1,
      available_at: at(0),
      lease_expires_at: at(59.999999),
      updated_at: at(29.999999),
    });
  });

  test("a renewed lease is valid past its first expiry", async () => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    await bundle.clock.advance(20_000);
    await valueOf(bundle.worker.renew(lease));
    await bundle.clock.advance(20_000);
    await bundle.maintain();
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
  });

  test("complete makes a running job succeeded and clears its lease", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    await bundle.clock.advance(3000);
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
    expect(await inspectJob(bundle, job_id)).toEqual({
      job_id,
      queue: "mail",
      kind: "mail.send",
      status: "succeeded",
      attempts: 1,
      max_attempts: 3,
      available_at: at(0),
      lease_expires_at: null,
      last_failure_code: null,
      created_at: at(0),
      updated_at: at(3),
    });
  });

  test("a retryable fail queues the job again after the delay, with its code and its attempt", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    await bundle.clock.advance(1000);
    const answer = await valueOf(bundle.worker.fail({ ...lease, failure_code: "smtp.451", retryable: true }));
    expect(answer).toEqual({ status: "queued", available_at: at(11) });
    expect(await inspectJob(bundle, job_id)).toEqual({
      job_id,
      queue: "mail",
      kind: "mail.send",
      status: "queued",
      attempts: 1,
      max_attempts: 3,
      available_at: at(11),
      lease_expires_at: null,
      last_failure_code: "smtp.451",
      created_at: at(0),
      updated_at: at(1),
    });
    await bundle.clock.advance(9999.999);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    await bundle.clock.advance(0.001);
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 2 });
  });

  test.each([
    ["a permanent fail", 3, false],
    ["a retryable fail of the last attempt", 1, true],
  ])("%s fails the job for good with the caller's code", async (_name, max_attempts, retryable) => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running", max_attempts });
    await bundle.clock.advance(4000);
    const answer = await valueOf(bundle.worker.fail({ ...lease, failure_code: "smtp.550", retryable }));
    expect(answer).toEqual({ status: "failed", available_at: null });
    expect(await inspectJob(bundle, job_id)).toEqual({
      job_id,
      queue: "mail",
      kind: "mail.send",
      status: "failed",
      attempts: 1,
      max_attempts,
      available_at: at(0),
      lease_expires_at: null,
      last_failure_code: "smtp.550",
      created_at: at(0),
      updated_at: at(4),
    });
  });

  test("the last failure code stays through later attempts and success, until another replaces it", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { state: "retrying" });
    const code = async () => (await inspectJob(bundle, job_id)).last_failure_code;
    await bundle.clock.advance(10_000);
    const second = leaseOf(await claimOne(bundle));
    expect(await code()).toBe("smtp.451");
    await valueOf(bundle.worker.renew(second));
    expect(await code()).toBe("smtp.451");
    await valueOf(bundle.worker.fail({ ...second, failure_code: "smtp.452", retryable: true }));
    expect(await code()).toBe("smtp.452");
    await bundle.clock.advance(20_000);
    await valueOf(bundle.worker.complete(leaseOf(await claimOne(bundle))));
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "succeeded",
      attempts: 3,
      last_failure_code: "smtp.452",
      available_at: at(30),
      updated_at: at(30),
    });
  });

  test("a lease is over at the very instant of its expiry, for every operation", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "expired" });
    const before = await inspectJob(bundle, job_id);
    expect(before).toMatchObject({ status: "running", lease_expires_at: at(30), updated_at: at(0) });
    expect(await bundle.worker.renew(lease)).toEqual(domain("invalid_lease"));
    expect(await bundle.worker.complete(lease)).toEqual(domain("invalid_lease"));
    const failure = { ...lease, failure_code: "late", retryable: true };
    expect(await bundle.worker.fail(failure)).toEqual(domain("invalid_lease"));
    expect(await inspectJob(bundle, job_id)).toEqual(before);
  });

  test.each(["succeeded", "failed"] as const)("a job that %s never leaves that state", async (state) => {
    await using bundle = await open(backend);
    const { job_id, lease, request } = await givenJob(bundle, { state });
    const before = await inspectJob(bundle, job_id);
    await bundle.clock.advance(100_000);
    await bundle.worker.complete(lease);
    await bundle.worker.renew(lease);
    await bundle.worker.fail({ ...lease, failure_code: "other", retryable: true });
    await bundle.maintain();
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    expect(await valueOf(bundle.producer.enqueue(request))).toEqual({ job_id, created: false });
    expect(await inspectJob(bundle, job_id)).toEqual(before);
  });

  test("a job of another queue is not claimed, and a job that runs is not claimed twice", async () => {
    await using bundle = await open(backend);
    await givenJob(bundle, { state: "running" });
    await valueOf(bundle.producer.enqueue(jobRequest({ queue: "other" })));
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    expect(await bundle.worker2.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
  });
});
