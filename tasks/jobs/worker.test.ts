import { expect, test } from "bun:test";
import { SQL } from "bun";
import pg from "pg";
import type { SignalsClient } from "../../capability/index.ts";
import type { Execute } from "../provider.ts";
import { faultyClient } from "./testing/faulty-client.ts";
import { aborted, claimOne, failed, newTask, succeeded, workAll } from "./testing/given.ts";
import { leaseSeconds, openTaskWorld } from "./testing/task-world.ts";

const done: Execute = async () => ({ ok: true, result: null });

test("an idle worker is woken by the signals capability, long before it would poll", async () => {
  await using world = await openTaskWorld();
  const waiting = Promise.withResolvers<void>();
  const real = world.signals()!;
  const signals: SignalsClient = {
    wait(request, options) {
      waiting.resolve();
      return real.wait(request, options);
    },
  };
  const provider = world.provider({ signals, pollIntervalMs: 60_000 });
  const entered = Promise.withResolvers<number>();
  const worker = provider.startWorker(
    async () => {
      entered.resolve(performance.now());
      return { ok: true, result: null };
    },
    { concurrency: 1 },
  );
  await waiting.promise;
  const began = performance.now();
  await provider.enqueue(newTask());
  expect((await entered.promise) - began).toBeLessThan(10_000);
  await worker.stop();
});

test("signals that fail leave polling, and are told once", async () => {
  await using world = await openTaskWorld();
  const told: unknown[] = [];
  const failing = Promise.withResolvers<void>();
  const provider = world.provider({
    signals: world.signals("stranger")!,
    onError(error) {
      told.push(error);
      failing.resolve();
    },
  });
  const entered = Promise.withResolvers<void>();
  const worker = provider.startWorker(
    async () => {
      entered.resolve();
      return { ok: true, result: null };
    },
    { concurrency: 1 },
  );
  await failing.promise;
  await provider.enqueue(newTask());
  await entered.promise;
  await worker.stop();
  expect(told.map(String)).toEqual(["JobsRefusal: Jobs wait answered unauthorized"]);
});

test("a worker of one Instance works what a producer of another enqueued", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider({ as: "producer" }).enqueue(newTask());
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test.each([
  ["worker", "a producer"],
  ["producer", "a worker"],
  ["stranger", "a producer"],
] as const)("a worker whose Instance is only a %s is refused at start", async (as, role) => {
  await using world = await openTaskWorld();
  const worker = world.provider({ as }).startWorker(done, { concurrency: 1 });
  await expect(worker.done).rejects.toMatchObject({
    code: "invalid-options",
    phase: "work",
    cause: { message: expect.stringContaining(`whose Instance is ${role} of the Jobs Instance`) },
  });
  const [{ jobs }] = await world.sql`select count(*)::int as jobs from jobs.jobs`;
  expect(jobs).toBe(0);
});

test("a queue that the Jobs Instance does not have is refused by the first claim", async () => {
  await using world = await openTaskWorld();
  const worker = world.provider({ queue: "nowhere" }).startWorker(done, { concurrency: 1 });
  await expect(worker.done).rejects.toMatchObject({ code: "invalid-options" });
});

test("leases of another length than leaseSeconds are refused, and the job stays for others", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  const worker = world.provider({ leaseSeconds: leaseSeconds + 1 }).startWorker(done, { concurrency: 1 });
  await expect(worker.done).rejects.toMatchObject({
    code: "invalid-options",
    cause: {
      message: `leaseSeconds: expected the lease_seconds of the Jobs Instance, whose leases last ${leaseSeconds} s, got ${leaseSeconds + 1}`,
    },
  });
  expect(await world.row(jobId)).toMatchObject({ state: "pending", attempt: 0 });
  await world.advance(2);
  expect(await workAll(world.provider())).toEqual([jobId]);
});

test("the delay before a retry is fixed when it is recorded, and the Jobs job carries it", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask({ retry: { delaySeconds: 60, backoff: false } }));
  const backend = world.backend();
  await backend.settle(await claimOne(backend), failed);
  expect(await workAll(provider)).toEqual([]);
  await world.advance(59);
  expect(await workAll(provider)).toEqual([]);
  await world.advance(1);
  expect(await workAll(provider)).toEqual([jobId]);
});

test("back-off doubles with jitter between once and twice the delay, up to its limit, and never overflows", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const backend = world.backend();
  const retry = { delaySeconds: 4, backoff: true, maxDelaySeconds: 1000 };
  const jobId = await provider.enqueue(newTask({ maxAttempts: 100, retry }));
  for (let attempt = 1; attempt < 20; attempt += 1) {
    await backend.settle(await claimOne(backend), failed);
    const [{ delay }] = await world.sql`
      select extract(epoch from run_at - lenso_test_clock.now())::float8 as delay from task where id = ${jobId}`;
    const least = Math.min(1000, 4 * 2 ** (attempt - 1));
    const most = Math.min(1000, 2 * least);
    expect(delay).toBeGreaterThan(least - 2); // less what has passed since
    expect(delay).toBeLessThanOrEqual(most);
    await world.advance(most);
  }
});

test("attempts that are spent end as failed with the last error; what succeeds forgets it", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const backend = world.backend();
  const jobId = await provider.enqueue(newTask({ maxAttempts: 2 }));
  await backend.settle(await claimOne(backend), aborted);
  await backend.settle(await claimOne(backend), failed);
  expect(await provider.get(jobId)).toMatchObject({ state: "failed", error: "handler-failed", attempt: 2 });
  const other = await provider.enqueue(newTask({ maxAttempts: 2 }));
  await backend.settle(await claimOne(backend), failed);
  await backend.settle(await claimOne(backend), succeeded);
  expect(await provider.get(other)).toMatchObject({ state: "succeeded", error: null, attempt: 2 });
});

test("a lease that passed is lost, also when nobody else took the job", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  const backend = world.backend();
  const claim = await claimOne(backend);
  expect(await backend.pulse(claim)).toBe("held");
  await world.advance(leaseSeconds - 1);
  expect(await backend.pulse(claim)).toBe("held");
  await world.advance(leaseSeconds - 1);
  expect(await backend.pulse(claim)).toBe("held");
  await world.advance(leaseSeconds + 1);
  expect(await backend.pulse(claim)).toBe("lost");
  expect(await backend.settle(claim, succeeded)).toBe("lost");
  expect(await world.row(jobId)).toMatchObject({ state: "running" });
});

test("a pulse without an answer rejects, and the lease is not prolonged", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask());
  const jobs = faultyClient(world.client());
  const backend = world.backend({ jobs });
  const claim = await claimOne(backend);
  const before = await world.row(jobId);
  await world.advance(5);
  jobs.lose("renew", "reply lost");
  await expect(backend.pulse(claim)).rejects.toThrow("unavailable");
  expect(await world.row(jobId)).toEqual(before);
});

test("a job of another kind in the queue is handed on, a broken one of ours ends, and tasks go on", async () => {
  await using world = await openTaskWorld();
  const enqueue = (kind: string, payload: object) =>
    world.client().enqueue({
      queue: "tasks",
      kind,
      payload: payload as never,
      idempotency_key: crypto.randomUUID(),
      available_at: "2020-01-01T00:00:00Z",
      max_attempts: 3,
    });
  const foreign = await enqueue("mail.send", { to: "ada" });
  const broken = await enqueue("lenso.task", { record: "x'); drop schema tasks", dispatch: 1 });
  const unknown = await enqueue("lenso.task", { record: crypto.randomUUID(), dispatch: 1 });
  const jobId = await world.provider().enqueue(newTask());
  expect(await workAll(world.provider())).toEqual([jobId]);
  const statuses = [foreign, broken, unknown].map(async (answer) => {
    const seen = await world.client().inspect({ job_id: answer.ok ? answer.value.job_id : "" });
    return seen.ok && [seen.value.status, seen.value.last_failure_code];
  });
  expect(await Promise.all(statuses)).toEqual([
    ["queued", "unknown_kind"],
    ["failed", "invalid_payload"],
    ["succeeded", null],
  ]);
});

test("a future task waits for its time", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const [{ now }] = await world.sql`select lenso_test_clock.now() as now`;
  const jobId = await provider.enqueue(newTask({ runAt: new Date(Number(now) + 3_600_000) }));
  expect(await workAll(provider)).toEqual([]);
  await world.advance(3601);
  expect(await workAll(provider)).toEqual([jobId]);
});

test("every JSON text comes back as it was, also keys that look like a prototype", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const value = JSON.parse(
    '{"__proto__":{"x":1},"constructor":1,"s":"\\\\u0000 é \\ud83d\\ude00","n":1e300,"a":[]}',
  );
  const inputs: unknown[] = [];
  const jobId = await provider.enqueue(newTask({ input: value, traceparent: "00-a-b-01" }));
  await provider.startWorker(
    async (claimed) => {
      inputs.push(claimed.input, claimed.traceparent);
      return { ok: true, result: value };
    },
    { concurrency: 1, maxJobs: 10 },
  ).done;
  expect(JSON.stringify(inputs[0])).toBe(JSON.stringify(value));
  expect(inputs[1]).toBe("00-a-b-01");
  expect(JSON.stringify((await provider.get(jobId))?.result)).toBe(JSON.stringify(value));
});

test("a worker that is stopped gives back what it had not entered, and close waits for what it had", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  await provider.enqueue(newTask());
  const worker = provider.startWorker(
    async () => {
      entered.resolve();
      await gate.promise;
      return { ok: true, result: null };
    },
    { concurrency: 1 },
  );
  await entered.promise;
  const stopped = worker.stop();
  const closed = provider.close();
  expect(await Promise.race([stopped, Bun.sleep(50).then(() => "waiting")])).toBe("waiting");
  gate.resolve();
  await Promise.all([stopped, closed]);
  expect(provider.close()).toBe(closed);
  await expect(provider.get(crypto.randomUUID())).rejects.toMatchObject({ code: "closed" });
  expect(() => provider.startWorker(done, { concurrency: 1 })).toThrow("closed");
  const [{ state }] = await world.sql`select state from task`;
  expect(state).toBe("succeeded");
});

test("200 tasks over four workers of two Instances each run once", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1)
    ids.push(...(await Promise.all(Array.from({ length: 50 }, () => provider.enqueue(newTask())))));
  const entered = await Promise.all(
    (["app", "other", "app", "other"] as const).map((as) => workAll(world.provider({ as }))),
  );
  expect(entered.flat().sort()).toEqual(ids.sort());
});

test.each(["pg.Pool", "Bun.SQL", "driver pg"] as const)(
  "the record is reached through a %s, and a borrowed pool stays open",
  async (how) => {
    await using world = await openTaskWorld();
    const pool = how === "pg.Pool" ? new pg.Pool({ connectionString: world.url, max: 3 }) : undefined;
    const sql = how === "Bun.SQL" ? new SQL(world.url, { max: 3, prepare: false }) : undefined;
    const lent = pool ?? sql;
    const provider = world.provider(lent ? { pool: lent as never } : { driver: "pg" });
    const jobId = await provider.enqueue(newTask({ deduplicationKey: "k", input: { é: "ö" } }));
    expect(await provider.enqueue(newTask({ deduplicationKey: "k", input: { é: "ö" } }))).toBe(jobId);
    expect(await workAll(provider, () => ["é"])).toEqual([jobId]);
    expect(await provider.get(jobId)).toMatchObject({ state: "succeeded", result: ["é"] });
    expect((await provider.list!({ tasks: ["greet"], limit: 10 })).jobs).toHaveLength(1);
    await provider.close();
    if (pool) expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    if (sql) expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }]);
    await pool?.end();
    await sql?.close();
  },
);

test("connections that the server cut are replaced, and no task is lost", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  await world.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'lenso-tasks'`;
  const entered = Promise.withResolvers<string>();
  const worker = provider.startWorker(
    async (claimed) => {
      entered.resolve(claimed.jobId);
      return { ok: true, result: null };
    },
    { concurrency: 1 },
  );
  expect(await entered.promise).toBe(jobId);
  await worker.stop();
  expect(await provider.get(jobId)).toMatchObject({ state: "succeeded" });
});
