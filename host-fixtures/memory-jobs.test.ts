import { describe, expect, test } from "bun:test";
import {
  claimed,
  evidence,
  given,
  leaseOf,
  mail,
  refused,
  setup,
  valueOf,
} from "./testing/memory-jobs-world.ts";

describe("enqueue", () => {
  test("an intent repeated is the first job, another intent under its key a conflict", async () => {
    const { producer, worker } = await setup();
    const request = mail({ payload: { a: 1, b: [0] } });
    const first = await valueOf(producer.enqueue(request));
    expect(first).toEqual({ job_id: expect.stringMatching(/^job_[A-Za-z0-9_-]{24}$/), created: true });
    const again = {
      ...request,
      payload: { b: [-0], a: 1 },
      available_at: "2026-01-01T01:00:00.0000001+01:00",
    };
    expect(await valueOf(producer.enqueue(again))).toEqual({ ...first, created: false });

    const { job_id, lease_token } = await valueOf(worker.claim({ queue: "mail" }));
    await worker.fail({ job_id, lease_token, failure_code: "busy", retryable: true });
    expect(await valueOf(producer.enqueue(request))).toEqual({ ...first, created: false });

    for (const change of [
      { queue: "other" },
      { kind: "mail.drop" },
      { payload: { a: 2, b: [0] } },
      { available_at: "2026-01-01T00:00:00.000001Z" },
      { max_attempts: 4 },
    ]) {
      expect(await producer.enqueue({ ...request, ...change })).toEqual(refused("idempotency_conflict"));
    }
  });

  test("the next run is the later of the time asked for and now", async () => {
    const bundle = await setup();
    const past = await given(bundle, { available_at: "2001-01-01T00:00:00Z" });
    const later = await given(bundle, { available_at: "2026-01-01T00:00:07Z" });
    expect(await evidence(bundle, past)).toMatchObject({ available_at: "2026-01-01T00:00:00.000000Z" });
    expect(await evidence(bundle, later)).toEqual({
      job_id: later,
      queue: "mail",
      kind: "mail.send",
      status: "queued",
      attempts: 0,
      max_attempts: 3,
      available_at: "2026-01-01T00:00:07.000000Z",
      lease_expires_at: null,
      last_failure_code: null,
      created_at: "2026-01-01T00:00:00.000000Z",
      updated_at: "2026-01-01T00:00:00.000000Z",
    });
  });
});

describe("claim", () => {
  test("jobs of a queue come in order of next run, then of enqueue, each once, and only when due", async () => {
    const bundle = await setup();
    await given(bundle, { queue: "other" });
    const second = await given(bundle, { available_at: "2026-01-01T00:00:02Z" });
    const third = await given(bundle, { available_at: "2026-01-01T00:00:02Z" });
    const first = await given(bundle);
    expect((await claimed(bundle)).job_id).toBe(first);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(refused("no_job_available"));
    await bundle.clock.advance(2000);
    expect([(await claimed(bundle)).job_id, (await claimed(bundle)).job_id]).toEqual([second, third]);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(refused("no_job_available"));
  });

  test("a claim answers with the job, its attempt and a lease, and the job runs", async () => {
    const bundle = await setup();
    const job_id = await given(bundle);
    expect(await claimed(bundle)).toEqual({
      job_id,
      queue: "mail",
      kind: "mail.send",
      payload: { to: "ada" },
      attempt: 1,
      max_attempts: 3,
      lease_token: expect.stringMatching(/^job_lease_[A-Za-z0-9_-]{43}$/),
      lease_expires_at: "2026-01-01T00:00:30.000000Z",
    });
    expect(await evidence(bundle, job_id)).toMatchObject({
      status: "running",
      attempts: 1,
      lease_expires_at: "2026-01-01T00:00:30.000000Z",
    });
  });

  test("a claim whose call ended before its answer is undone", async () => {
    const bundle = await setup();
    const job_id = await given(bundle);
    await bundle.clock.advance(1000);
    const call = new AbortController();
    const answer = bundle.worker.claim({ queue: "mail" }, { signal: call.signal });
    call.abort();
    expect(await answer).toMatchObject({
      ok: false,
      error: { kind: "runtime", error: { kind: "cancelled" } },
    });
    expect(await evidence(bundle, job_id)).toMatchObject({
      status: "queued",
      attempts: 0,
      available_at: "2026-01-01T00:00:00.000000Z",
    });
    expect(await claimed(bundle)).toMatchObject({ job_id, attempt: 1 });
  });

  test("an expired lease is claimed anew, in the turn of its expiry and with the code lease_expired", async () => {
    const bundle = await setup();
    const expired = await given(bundle);
    const stale = await claimed(bundle);
    const earlier = await given(bundle, { available_at: "2026-01-01T00:00:29Z" });
    const later = await given(bundle, { available_at: "2026-01-01T00:00:31Z" });
    await bundle.clock.advance(32_000);
    const order = [await claimed(bundle), await claimed(bundle), await claimed(bundle)];
    expect(order.map((each) => each.job_id)).toEqual([earlier, expired, later]);
    expect(order[1]).toMatchObject({ attempt: 2 });
    expect(order[1]?.lease_token).not.toBe(stale.lease_token);
    expect(await evidence(bundle, expired)).toMatchObject({
      status: "running",
      last_failure_code: "lease_expired",
      available_at: "2026-01-01T00:00:30.000000Z",
    });
    expect(await bundle.worker.complete(leaseOf(stale))).toEqual(refused("invalid_lease"));
  });

  test("a claim retires 64 exhausted jobs of its queue at most, and still serves a job that is due", async () => {
    const bundle = await setup();
    for (let each = 0; each < 65; each += 1) await given(bundle, { max_attempts: 1 });
    const elsewhere = await given(bundle, { queue: "other", max_attempts: 1 });
    const leases = [];
    for (let each = 0; each < 65; each += 1) leases.push(await claimed(bundle));
    await claimed(bundle, "other");
    await bundle.clock.advance(30_000);
    const due = await given(bundle);
    expect((await claimed(bundle)).job_id).toBe(due);

    const states = await Promise.all(leases.map(({ job_id }) => evidence(bundle, job_id)));
    const retired = states.filter((state) => state.status === "failed");
    expect(retired).toHaveLength(64);
    expect(retired[0]).toMatchObject({
      attempts: 1,
      last_failure_code: "attempts_exhausted",
      lease_expires_at: null,
      available_at: "2026-01-01T00:00:00.000000Z",
      updated_at: "2026-01-01T00:00:30.000000Z",
    });
    expect(await evidence(bundle, elsewhere)).toMatchObject({ status: "running" });
  });
});

describe("a lease", () => {
  test("is valid for its owner and token until the instant of its expiry", async () => {
    const bundle = await setup();
    await given(bundle);
    const lease = leaseOf(await claimed(bundle));
    expect(await bundle.as("rival").renew(lease)).toEqual(refused("invalid_lease"));
    const forged = { ...lease, lease_token: `job_lease_${Buffer.alloc(32).toString("base64url")}` };
    expect(await bundle.worker.renew(forged)).toEqual(refused("invalid_lease"));
    await bundle.clock.advance(29_999.999);
    expect(await valueOf(bundle.worker.renew(lease))).toEqual({
      lease_expires_at: "2026-01-01T00:00:59.999999Z",
    });
    expect(await evidence(bundle, lease.job_id)).toMatchObject({ updated_at: "2026-01-01T00:00:29.999999Z" });
    await bundle.clock.advance(30_000);
    expect(await bundle.worker.renew(lease)).toEqual(refused("invalid_lease"));
    expect(await bundle.worker.complete(lease)).toEqual(refused("invalid_lease"));
    expect(await bundle.worker.fail({ ...lease, failure_code: "late", retryable: true })).toEqual(
      refused("invalid_lease"),
    );
  });

  test("is spent by complete, which may be repeated by the same call only", async () => {
    const bundle = await setup();
    await given(bundle);
    const lease = leaseOf(await claimed(bundle));
    await bundle.clock.advance(5000);
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
    await bundle.clock.advance(60_000);
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
    expect(await bundle.as("rival").complete(lease)).toEqual(refused("invalid_lease"));
    expect(await bundle.worker.renew(lease)).toEqual(refused("invalid_lease"));
    expect(await bundle.worker.fail({ ...lease, failure_code: "x", retryable: false })).toEqual(
      refused("invalid_lease"),
    );
    expect(await evidence(bundle, lease.job_id)).toMatchObject({
      status: "succeeded",
      attempts: 1,
      lease_expires_at: null,
      updated_at: "2026-01-01T00:00:05.000000Z",
    });
  });
});

describe("fail", () => {
  test("a retryable failure waits twice as long each time, up to the maximum, then fails for good", async () => {
    const bundle = await setup();
    await given(bundle, { max_attempts: 4 });
    const delays: (string | null)[] = [];
    for (const wait of [10_000, 20_000, 25_000, 0]) {
      const lease = leaseOf(await claimed(bundle));
      const answer = await valueOf(
        bundle.worker.fail({ ...lease, failure_code: "smtp.451", retryable: true }),
      );
      delays.push(answer.available_at);
      await bundle.clock.advance(wait);
    }
    expect(delays).toEqual([
      "2026-01-01T00:00:10.000000Z",
      "2026-01-01T00:00:30.000000Z",
      "2026-01-01T00:00:55.000000Z",
      null,
    ]);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(refused("no_job_available"));
  });

  test("a repeated fail gets the first answer until the job is claimed again", async () => {
    const bundle = await setup();
    await given(bundle);
    const call = { ...leaseOf(await claimed(bundle)), failure_code: "smtp.451", retryable: true };
    const queued = { status: "queued", available_at: "2026-01-01T00:00:10.000000Z" } as const;
    expect(await valueOf(bundle.worker.fail(call))).toEqual(queued);
    await bundle.clock.advance(10_000);
    expect(await valueOf(bundle.worker.fail(call))).toEqual(queued);
    for (const other of [{ failure_code: "smtp.452" }, { retryable: false }]) {
      expect(await bundle.worker.fail({ ...call, ...other })).toEqual(refused("invalid_lease"));
    }
    expect(await bundle.worker.complete(leaseOf(call))).toEqual(refused("invalid_lease"));
    await claimed(bundle);
    expect(await bundle.worker.fail(call)).toEqual(refused("invalid_lease"));
  });

  test("a permanent failure keeps the caller's code, and a repeated one its answer", async () => {
    const bundle = await setup();
    const job_id = await given(bundle);
    const call = { ...leaseOf(await claimed(bundle)), failure_code: "smtp.550", retryable: false };
    const failed = { status: "failed", available_at: null } as const;
    expect(await valueOf(bundle.worker.fail(call))).toEqual(failed);
    expect(await valueOf(bundle.worker.fail(call))).toEqual(failed);
    expect(await bundle.worker.fail({ ...call, retryable: true })).toEqual(refused("invalid_lease"));
    expect(await evidence(bundle, job_id)).toMatchObject({ status: "failed", last_failure_code: "smtp.550" });
  });
});
