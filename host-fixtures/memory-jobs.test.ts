import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createJobsClient, type EnqueueRequest, type JobsClient } from "../capability/index.ts";
import { createTestClock } from "./clock.ts";
import { startHost } from "./host.ts";
import { createMemoryJobs, type MemoryJobs } from "./memory-jobs.ts";
import { secretsFromMap } from "./secrets.ts";
import { testPlugin } from "./testing/test-plugin.ts";

const configuration = {
  schema: "jobs",
  database_url_secret: "jobs/url",
  lease_seconds: 30,
  retry_base_seconds: 10,
  retry_max_seconds: 25,
  queues: ["mail", "other"],
  producer_instances: ["producer"],
  worker_instances: ["worker", "rival"],
  observer_instances: ["observer"],
};

/** A host of one Jobs Instance, a client for each role, and the clock that drives it. */
async function setup(given: { clock?: ReturnType<typeof createTestClock>; jobs?: MemoryJobs } = {}) {
  const clock = given.clock ?? createTestClock();
  const jobs = given.jobs ?? createMemoryJobs({ clock });
  const caller = {
    plugin: testPlugin({ provides: {}, needs: [{ id: "jobs", capability: "lenso.jobs@1" }] }),
  };
  const callers = ["producer", "worker", "rival", "observer", "stranger"];
  const host = await startHost({
    instances: {
      jobs: { plugin: jobs, configuration },
      ...Object.fromEntries(callers.map((key) => [key, caller])),
    },
    bindings: callers.map((consumer) => ({ consumer, requirement: "jobs", provider: "jobs" })),
  });
  const as = (key: string): JobsClient => createJobsClient(host.handle(key, "jobs"));
  return { host, clock, jobs, store: jobs.store("jobs"), producer: as("producer"), worker: as("worker"), as };
}

type Setup = Awaited<ReturnType<typeof setup>>;

let keys = 0;
const mail = (changes: Partial<EnqueueRequest> = {}): EnqueueRequest => ({
  queue: "mail",
  kind: "mail.send",
  payload: { to: "ada" },
  idempotency_key: `key-${(keys += 1)}`,
  available_at: "2026-01-01T00:00:00Z",
  max_attempts: 3,
  ...changes,
});

/** The value of a call that must succeed. */
async function valueOf<T>(call: Promise<{ ok: true; value: T } | { ok: false; error: unknown }>): Promise<T> {
  const result = await call;
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

const refused = (error: string) => ({ ok: false, error: { kind: "domain", error } }) as never;
const given = async ({ producer }: Setup, changes?: Partial<EnqueueRequest>): Promise<string> =>
  (await valueOf(producer.enqueue(mail(changes)))).job_id;
const claimed = ({ worker }: Setup, queue = "mail") => valueOf(worker.claim({ queue }));
const evidence = ({ producer }: Setup, job_id: string) => valueOf(producer.inspect({ job_id }));
const leaseOf = ({ job_id, lease_token }: { job_id: string; lease_token: string }) => ({
  job_id,
  lease_token,
});

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

describe("behind the capability", () => {
  test("maintenance returns expired jobs to their queue and retires exhausted ones, in all queues", async () => {
    const bundle = await setup();
    const retryable = await given(bundle);
    const exhausted = await given(bundle, { queue: "other", max_attempts: 1 });
    await claimed(bundle);
    await claimed(bundle, "other");
    await bundle.clock.advance(31_000);
    bundle.store.maintain();
    expect(await evidence(bundle, retryable)).toMatchObject({
      status: "queued",
      attempts: 1,
      available_at: "2026-01-01T00:00:30.000000Z",
      last_failure_code: "lease_expired",
      updated_at: "2026-01-01T00:00:31.000000Z",
    });
    expect(await evidence(bundle, exhausted)).toMatchObject({
      status: "failed",
      last_failure_code: "attempts_exhausted",
    });
  });

  test("a fence voids every lease, and the jobs are claimed anew as expired ones", async () => {
    const bundle = await setup();
    const job_id = await given(bundle);
    const lease = leaseOf(await claimed(bundle));
    await bundle.clock.advance(1000);
    bundle.store.fence();
    expect(await bundle.worker.complete(lease)).toEqual(refused("invalid_lease"));
    expect(await claimed(bundle)).toMatchObject({ job_id, attempt: 2 });
    expect(await evidence(bundle, job_id)).toMatchObject({
      available_at: "2026-01-01T00:00:01.000000Z",
      last_failure_code: "lease_expired",
    });
  });

  test("jobs outlive their host, a lease and an idempotency key included", async () => {
    const before = await setup();
    const request = mail();
    const first = await valueOf(before.producer.enqueue(request));
    const lease = leaseOf(await claimed(before));
    await before.host.stop();
    expect(await before.worker.complete(lease)).toMatchObject({
      ok: false,
      error: { kind: "runtime", error: { kind: "admission_closed" } },
    });
    const after = await setup({ clock: before.clock, jobs: before.jobs });
    expect(await valueOf(after.producer.enqueue(request))).toEqual({ ...first, created: false });
    expect(await valueOf(after.worker.complete(lease))).toEqual({ completed: true });
    await after.host.stop();
  });

  test("two instances of one plugin share no job", async () => {
    const jobs = createMemoryJobs();
    const needs = ["left", "right"].map((id) => ({ id, capability: "lenso.jobs@1" }));
    const host = await startHost({
      instances: {
        producer: { plugin: testPlugin({ provides: {}, needs }) },
        left: { plugin: jobs, configuration: { ...configuration, worker_instances: ["producer"] } },
        right: { plugin: jobs, configuration: { ...configuration, worker_instances: ["producer"] } },
      },
      bindings: ["left", "right"].map((key) => ({ consumer: "producer", requirement: key, provider: key })),
    });
    const [left, right] = ["left", "right"].map((id) => createJobsClient(host.handle("producer", id)));
    const { job_id } = await valueOf((left as JobsClient).enqueue(mail()));
    expect(await right?.inspect({ job_id })).toEqual(refused("job_not_found"));
    expect(await right?.claim({ queue: "mail" })).toEqual(refused("no_job_available"));
    await host.stop();
  });

  test("an endpoint answers unavailable before prepare and admission_closed after deactivate", async () => {
    const instance = createMemoryJobs().instantiate({ instanceKey: "jobs", configuration });
    const inspect = () =>
      instance.endpoints[0]?.invokeRequest(
        "inspect",
        { requestId: "1", callerInstance: "observer", cancelled: false },
        { job_id: `job_${"A".repeat(24)}` },
      );
    const kind = (kind: string) =>
      ({ kind: "runtime", failure: { kind, detail: expect.any(String) } }) as never;
    const context = {} as never;
    expect(await inspect()).toEqual(kind("unavailable"));
    await instance.prepare?.(context);
    expect(await inspect()).toEqual({ kind: "domain", value: "job_not_found" });
    await instance.deactivate?.(context);
    expect(await inspect()).toEqual(kind("admission_closed"));
  });

  test("the composition of the real plugin, secrets included, works unchanged", async () => {
    const host = await startHost({
      instances: {
        jobs: { plugin: createMemoryJobs(), configuration },
        secrets: { plugin: secretsFromMap({ "jobs/url": "unused" }) },
      },
      bindings: [{ consumer: "jobs", requirement: "secrets", provider: "secrets" }],
    });
    await host.stop();
  });

  test("a bad configuration is refused as by the real plugin", async () => {
    const started = startHost({
      instances: {
        jobs: { plugin: createMemoryJobs(), configuration: { ...configuration, lease_seconds: 0 } },
      },
      bindings: [],
    });
    expect(started).rejects.toMatchObject({
      kind: "invalid_resolved_plan",
      detail: expect.stringContaining("lease_seconds: expected an integer 1..3600, got 0"),
    });
    await started.catch(() => {});
  });
});

test("random calls leave every job in one place and never give one lease twice", async () => {
  const bundle = await setup();
  const tokens = new Set<string>();
  const leases: { job_id: string; lease_token: string }[] = [];
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  const ids = new Set<string>();
  for (let step = 0; step < 2000; step += 1) {
    const lease = leases[random(Math.max(1, leases.length))];
    const act = random(7);
    if (act === 0) ids.add(await given(bundle, { max_attempts: 1 + random(3) }));
    else if (act === 1) await bundle.clock.advance(random(12_000));
    else if (act === 2) bundle.store.maintain();
    else if (act === 3 && lease) await bundle.worker.renew(lease);
    else if (act === 4 && lease) await bundle.worker.complete(lease);
    else if (act === 5 && lease)
      await bundle.worker.fail({ ...lease, failure_code: "x", retryable: random(2) === 0 });
    else {
      const answer = await bundle.worker.claim({ queue: "mail" });
      if (!answer.ok) continue;
      expect(answer.value.attempt).toBeLessThanOrEqual(answer.value.max_attempts);
      const hash = createHash("sha256").update(answer.value.lease_token).digest("hex");
      expect(tokens.has(hash)).toBe(false);
      tokens.add(hash);
      leases.push(leaseOf(answer.value));
    }
  }
  for (const job_id of ids) {
    const state = await evidence(bundle, job_id);
    expect(state.lease_expires_at === null).toBe(state.status !== "running");
    expect(state.attempts).toBeLessThanOrEqual(state.max_attempts);
    if (state.status === "queued") expect(state.attempts).toBeLessThan(state.max_attempts);
  }
});
