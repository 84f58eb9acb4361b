import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  bindSecretsProvider,
  createJobsClient,
  type PluginFactory,
  type RuntimeFailureError,
  secretsCapability,
} from "../../capability/index.ts";
import { secretsFromMap, startHost } from "../../host-fixtures/index.ts";
import { testPlugin, tracedPlugin } from "../../host-fixtures/testing/test-plugin.ts";
import { jobsBunPlugin } from "../../plugin/bun-plugin.ts";
import { setup } from "../../plugin/operator/index.ts";
import { createJobsPlugin } from "../../plugin/plugin.ts";
import { databaseClock } from "../../plugin/store/sql-context.ts";
import { detail, leaseOf, newJob, ok, problem } from "../postgres/support/jobs.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { configurationOf, drivers, startJobs } from "../postgres/support/jobs-host.ts";
import { observer, pluginConnections, until, untilLocksWaitedFor } from "../postgres/support/observe.ts";
import { afterTestFile } from "../support/after-test-file.ts";
import { testDatabase } from "../support/test-database.ts";
import { testServer } from "../support/test-server.ts";

const server = await testServer();
const plugin = createJobsPlugin({ clock: databaseClock, maintenanceIntervalMs: 3_600_000 });

test("two Instances that start on one empty schema at once: one owns it, the other is refused by name", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { url } = await jobsDatabase();
    const starts = await Promise.allSettled(
      ["first", "second", "third"].map((key) => startJobs({ url, key })),
    );
    const started = starts.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const refused = starts.flatMap((each) =>
      each.status === "rejected" ? [each.reason as RuntimeFailureError] : [],
    );
    expect(started).toHaveLength(1);
    for (const failure of refused) {
      expect(failure.kind).toBe("invalid_resolved_plan");
      expect(failure.detail).toContain("two Instances never share one");
    }
    ok(await started[0]!.producer.enqueue(newJob()));
    await started[0]!.stop();
  }
});

test("two processes of one Instance share its schema", async () => {
  const { url } = await jobsDatabase();
  await using one = await startJobs({ url });
  await using two = await startJobs({ url, driver: "pg" });
  const { job_id } = ok(await one.producer.enqueue(newJob()));
  const claimed = ok(await two.worker.claim({ queue: "mail" }));
  expect(claimed.job_id).toBe(job_id);
  ok(await one.worker.complete(leaseOf(claimed)));
});

test("several Instances in one process share no job, key, queue or connection", async () => {
  const { url } = await testDatabase();
  const keys = ["a", "b", "c"];
  for (const schema of keys) expect((await setup({ databaseUrl: url, schema })).ok).toBe(true);
  const module = testPlugin({ needs: keys.map((id) => ({ id, capability: "lenso.jobs@1" })), provides: {} });
  const host = await startHost({
    instances: {
      secrets: { plugin: secretsFromMap({ "jobs/database": url }) },
      ...Object.fromEntries(
        keys.map((key) => [
          key,
          { plugin, configuration: { ...configurationOf(), schema: key, queues: ["mail", key] } },
        ]),
      ),
      producer: { plugin: module },
      worker: { plugin: module },
    },
    bindings: keys.flatMap((key) => [
      { consumer: key, requirement: "secrets", provider: "secrets" },
      { consumer: "producer", requirement: key, provider: key },
      { consumer: "worker", requirement: key, provider: key },
    ]),
  });
  const [producers, workers] = ["producer", "worker"].map((name) =>
    keys.map((key) => createJobsClient(host.handle(name, key))),
  ) as [ReturnType<typeof createJobsClient>[], ReturnType<typeof createJobsClient>[]];
  const request = newJob();
  const made = await Promise.all(producers.map((each) => each.enqueue(request)));
  expect(made.map((result) => ok(result).created)).toEqual([true, true, true]);
  expect(problem(await producers[0]!.enqueue(newJob({ queue: "b" })))).toBe("invalid_job");
  const claimed = ok(await workers[0]!.claim({ queue: "mail" }));
  expect(problem(await workers[1]!.complete(leaseOf(claimed)))).toBe("invalid_lease");
  expect(problem(await workers[2]!.inspect({ job_id: claimed.job_id }))).toBe("job_not_found");
  expect(problem(await workers[0]!.claim({ queue: "mail" }))).toBe("no_job_available");
  ok(await workers[1]!.claim({ queue: "mail" }));
  ok(await workers[0]!.complete(leaseOf(claimed)));
  await host.stop();
});

test("a failed start takes back every Instance that was touched, the failing one included, in reverse and once", async () => {
  const { url } = await jobsDatabase();
  await using sql = observer(url, 1);
  const events: string[] = [];
  const broken = tracedPlugin(events, {
    needs: [{ id: "jobs", capability: "lenso.jobs@1" }],
    provides: {},
    prepare: async () => {
      throw new Error("no");
    },
  });
  const started = startHost({
    instances: {
      first: { plugin: tracedPlugin(events, { provides: {} }) },
      secrets: { plugin: secretsFromMap({ "jobs/database": url }) },
      jobs: { plugin, configuration: configurationOf() },
      broken: { plugin: broken },
      never: { plugin: tracedPlugin(events, { provides: {} }) },
    },
    bindings: [
      { consumer: "jobs", requirement: "secrets", provider: "secrets" },
      { consumer: "broken", requirement: "jobs", provider: "jobs" },
    ],
  });
  expect(started).rejects.toThrow('prepare of "broken" failed unexpectedly');
  await started.catch(() => undefined);
  expect(events).toEqual(["prepare first", "prepare broken", "deactivate broken", "deactivate first"]);
  await until("the plugin's connections to close", async () => (await pluginConnections(sql)) === 0);
  const [row] = await sql`select count(*)::int as recorded from jobs.instance`;
  expect(row.recorded).toBe(0);
});

describe.each(drivers)("over the driver %s", (driver) => {
  test("after a rotation the new password is found in the secret, without a restart", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 1);
    const role = `rotated_${randomBytes(5).toString("hex")}`;
    await sql.unsafe(`create role ${role} login password 'CANARY-firstpassword'`);
    afterTestFile(async () => {
      await using admin = observer(server.url, 1);
      await admin.unsafe(`drop role if exists ${role}`);
    });
    expect((await setup({ databaseUrl: url, schema: "jobs", runtimeRole: role })).ok).toBe(true);
    let password = "CANARY-firstpassword";
    let asked = 0;
    const jobs = await startJobs({
      url,
      driver,
      secrets: secretsThatFind(() => {
        asked += 1;
        const own = new URL(url);
        own.username = role;
        own.password = password;
        return own.href;
      }),
    });
    const { job_id } = ok(await jobs.producer.enqueue(newJob()));

    await sql.unsafe(`alter role ${role} password 'CANARY-secondpassword'`);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`;
    const refused = await until(
      "a refusal",
      async () => problem(await jobs.observer.inspect({ job_id })) !== "ok",
    ).then(() => jobs.observer.inspect({ job_id }));
    expect(problem(refused)).toBe("runtime:unavailable");
    expect(detail(refused)).not.toContain("CANARY");
    password = "CANARY-secondpassword";
    await until("calls to work again", async () => problem(await jobs.observer.inspect({ job_id })) === "ok");
    const claimed = ok(await jobs.worker.claim({ queue: "mail" }));
    ok(await jobs.worker.complete(leaseOf(claimed)));
    expect(asked).toBeLessThan(8);
    await jobs.stop();
    await sql.unsafe(`drop owned by ${role}`);
  });

  test("an Instance whose prepare outlasts its deadline keeps no connection when it ends after all", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    const blocker = await sql.reserve();
    await blocker`begin`;
    await blocker`lock table jobs.instance in access exclusive mode`;
    const started = startJobs({ url, driver, prepareTimeoutMs: 300 });
    expect(
      await started.then(
        () => "started",
        (error: RuntimeFailureError) => error.kind,
      ),
    ).toBe("deadline_exceeded");
    await blocker`rollback`;
    await blocker.release();
    try {
      await until(
        "the plugin's connections to close",
        async () => (await pluginConnections(sql)) === 0,
        3000,
      );
    } finally {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'lenso-jobs'`;
    }
  });
});

// `create` opened the pools and then could not record its key: nobody has anything to stop.
test("a Bun SDK plugin that loses its schema to another one while it is created keeps no connection", async () => {
  const { url } = await jobsDatabase();
  await using sql = observer(url, 2);
  const secrets = { invoke: async () => ({ kind: "success", value: { value: url } }) as const };
  const lifecycle = (instanceKey: string) => ({
    instanceKey,
    requestId: "1",
    cancelled: false,
    signal: new AbortController().signal,
    remainingTimeoutMs: () => 5000,
  });
  const config = jobsBunPlugin.config.parse(configurationOf({ driver: "pg" })); // a pool that nobody collects
  const create = (key: string) => jobsBunPlugin.create({ config, dependencies: { secrets } }, lifecycle(key));
  // Both find the schema free and then record themselves.
  const blocker = await sql.reserve();
  await blocker`begin`;
  await blocker`lock table jobs.instance in exclusive mode`;
  const creating = Promise.allSettled([create("first"), create("second")]);
  await untilLocksWaitedFor(sql, 2);
  await blocker`rollback`;
  await blocker.release();
  const created = await creating;
  const winner = created.find((each) => each.status === "fulfilled");
  expect(created.map((each) => each.status).toSorted()).toEqual(["fulfilled", "rejected"]);
  if (winner) await jobsBunPlugin.stop(winner.value, lifecycle("any"));
  try {
    await until("the plugin's connections to close", async () => (await pluginConnections(sql)) === 0, 2000);
  } finally {
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'lenso-jobs'`;
  }
});

function secretsThatFind(find: () => string): PluginFactory {
  return {
    packageId: "test.secrets",
    packageVersion: "1.0.0",
    requirements: [],
    capabilities: [secretsCapability.descriptor],
    instantiate: () => ({
      endpoints: [bindSecretsProvider({ resolve: async () => ({ ok: true, value: { value: find() } }) })],
    }),
  };
}
