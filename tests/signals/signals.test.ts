import { afterEach, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { createJobsClient, createSignalsClient, type PluginFactory } from "../../capability/index.ts";
import { type Host, secretsFromMap, startHost } from "../../host-fixtures/index.ts";
import { jobsPlugin } from "../../plugin/index.ts";
import { setup } from "../../plugin/operator/index.ts";
import { testDatabase } from "../support/test-database.ts";

const hosts: Host[] = [];
afterEach(async () => {
  for (const host of hosts.splice(0).reverse()) await host.stop();
});

const database = await testDatabase({
  template: "signals",
  prepare: async (databaseUrl) => void (await setup({ databaseUrl, schema: "jobs" })),
});

const configuration = {
  schema: "jobs",
  database_url_secret: "database",
  lease_seconds: 1,
  retry_base_seconds: 1,
  retry_max_seconds: 1,
  queues: ["mail", "other"],
  producer_instances: ["app"],
  worker_instances: ["app"],
};

const application: PluginFactory = {
  packageId: "test.app",
  packageVersion: "1.0.0",
  requirements: [
    { id: "jobs", capability: "lenso.jobs@1", version: "1.0.0", cardinality: "one" },
    { id: "signals", capability: "lenso.jobs-signals@1", version: "1.0.0", cardinality: "one" },
  ],
  capabilities: [],
  instantiate: () => ({ endpoints: [] }),
};

/** One process's worth of the plugin: its own connections, listener and hints. */
async function start(overrides: object = {}) {
  const host = await startHost({
    instances: {
      secrets: { plugin: secretsFromMap({ database: database.url }) },
      jobs: { plugin: jobsPlugin, configuration: { ...configuration, ...overrides } },
      app: { plugin: application },
      stranger: { plugin: application },
    },
    bindings: [
      { consumer: "jobs", requirement: "secrets", provider: "secrets" },
      ...["app", "stranger"].flatMap((consumer) => [
        { consumer, requirement: "jobs", provider: "jobs" },
        { consumer, requirement: "signals", provider: "jobs" },
      ]),
    ],
  });
  hosts.push(host);
  return {
    host,
    jobs: createJobsClient(host.handle("app", "jobs")),
    signals: createSignalsClient(host.handle("app", "signals")),
    stranger: createSignalsClient(host.handle("stranger", "signals")),
  };
}

const job = (overrides: object = {}) => ({
  queue: "mail",
  kind: "welcome",
  payload: {},
  idempotency_key: crypto.randomUUID(),
  available_at: "2026-01-01T00:00:00Z",
  max_attempts: 5,
  ...overrides,
});

/** Resolves once the process has registered that it waits for the queue. */
async function registered(count: number): Promise<void> {
  const sql = new SQL(database.url, { max: 1 });
  while ((await sql`select from jobs.waiter`).length < count) await Bun.sleep(5);
  await sql.close();
}

describe.each(["bun", "pg"] as const)("driver %s", (driver) => {
  test("a job that waits already ends the wait at once", async () => {
    const { jobs, signals } = await start({ driver });
    await jobs.enqueue(job());
    expect(await signals.wait({ queues: ["mail"], timeout_ms: 60_000 })).toEqual({
      ok: true,
      value: { queue: "mail" },
    });
    await drain(jobs);
  });

  test("an enqueue in the same process ends the wait, of this queue only", async () => {
    const { jobs, signals } = await start({ driver, poll_interval_ms: 60_000 });
    const mail = signals.wait({ queues: ["mail"], timeout_ms: 60_000 });
    const other = signals.wait({ queues: ["other"], timeout_ms: 1500 });
    await registered(2);
    await jobs.enqueue(job());
    expect(await mail).toEqual({ ok: true, value: { queue: "mail" } });
    expect(await other).toEqual({ ok: true, value: { queue: null } });
    await drain(jobs);
  });

  test("an enqueue in another process ends the wait by notification, long before the next look", async () => {
    const waiting = await start({ driver, poll_interval_ms: 60_000 });
    const elsewhere = await start({ driver });
    const ended = waiting.signals.wait({ queues: ["other", "mail"], timeout_ms: 30_000 });
    // Past the first second nothing but a notification ends the wait before the poll interval.
    await Bun.sleep(1300);
    await elsewhere.jobs.enqueue(job());
    const startedAt = performance.now();
    expect(await ended).toEqual({ ok: true, value: { queue: "mail" } });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await drain(elsewhere.jobs);
  });
});

test("a wait ends when a scheduled job becomes due and when a lease expires", async () => {
  const { jobs, signals } = await start({ poll_interval_ms: 60_000 });
  await jobs.enqueue(job({ available_at: new Date(Date.now() + 1500).toISOString() }));
  expect(await signals.wait({ queues: ["mail"], timeout_ms: 30_000 })).toMatchObject({
    value: { queue: "mail" },
  });
  expect(await jobs.claim({ queue: "mail" })).toMatchObject({ ok: true });
  // Its lease of one second is never renewed.
  expect(await signals.wait({ queues: ["mail"], timeout_ms: 30_000 })).toMatchObject({
    value: { queue: "mail" },
  });
  await drain(jobs);
});

test("the listening connection is restored after it was killed", async () => {
  const waiting = await start({ poll_interval_ms: 60_000 });
  const elsewhere = await start();
  const first = waiting.signals.wait({ queues: ["mail"], timeout_ms: 30_000 });
  await registered(1);
  const sql = new SQL(database.url, { max: 1 });
  const killed =
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and datname = current_database()`;
  expect(killed.length).toBeGreaterThan(0);
  await sql.close();
  // What the lost connection would have said is unknown, so everybody wakes once and looks.
  expect(await first).toMatchObject({ ok: true });
  const second = waiting.signals.wait({ queues: ["mail"], timeout_ms: 30_000 });
  await Bun.sleep(1300);
  await elsewhere.jobs.enqueue(job());
  expect(await second).toEqual({ ok: true, value: { queue: "mail" } });
  await drain(elsewhere.jobs);
});

test("without LISTEN a job is noticed by looking", async () => {
  const waiting = await start({ poll_interval_ms: 200 });
  const elsewhere = await start();
  const sql = new SQL(database.url, { max: 1 });
  const ended = waiting.signals.wait({ queues: ["mail"], timeout_ms: 30_000 });
  await registered(1);
  await sql`delete from jobs.waiter`;
  await elsewhere.jobs.enqueue(job());
  expect(await ended).toEqual({ ok: true, value: { queue: "mail" } });
  await sql.close();
  await drain(elsewhere.jobs);
});

test("only a worker may wait, and only for configured queues", async () => {
  const { signals, stranger } = await start();
  const ask = { queues: ["mail"], timeout_ms: 0 };
  const refused = (code: string) => ({ ok: false as const, error: { kind: "domain" as const, error: code } });
  expect(await stranger.wait(ask)).toEqual(refused("unauthorized") as never);
  for (const queues of [[], ["nowhere"], ["mail", "nowhere"], Array.from({ length: 65 }, () => "mail")]) {
    expect(await signals.wait({ ...ask, queues })).toEqual(refused("invalid_queue") as never);
  }
  for (const timeout_ms of [-1, 60_001, 1.5]) {
    expect(await signals.wait({ ...ask, timeout_ms })).toMatchObject({
      error: { error: { kind: "protocol_violation" } },
    });
  }
});

test("an aborted wait is cancelled, and a stop answers null at once", async () => {
  const { host, signals } = await start();
  const controller = new AbortController();
  const aborted = signals.wait({ queues: ["other"], timeout_ms: 60_000 }, { signal: controller.signal });
  controller.abort();
  expect(await aborted).toMatchObject({ error: { error: { kind: "cancelled" } } });
  const waiting = signals.wait({ queues: ["other"], timeout_ms: 60_000 });
  await host.stop();
  expect(await waiting).toEqual({ ok: true, value: { queue: null } });
});

async function drain(jobs: ReturnType<typeof createJobsClient>): Promise<void> {
  for (;;) {
    const claimed = await jobs.claim({ queue: "mail" });
    if (!claimed.ok) return;
    await jobs.complete({ job_id: claimed.value.job_id, lease_token: claimed.value.lease_token });
  }
}
