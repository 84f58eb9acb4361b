import { describe, expect, test } from "bun:test";
import { databaseClock } from "../../host-fixtures/index.ts";
import { check } from "../../plugin/operator/index.ts";
import { startLoad } from "../faults/support/load.ts";
import { expectAllRight } from "../postgres/support/expect-all-right.ts";
import { detail, leaseOf, newJob, ok, problem } from "../postgres/support/jobs.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { drivers, startJobs, type TestDriver } from "../postgres/support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "../postgres/support/observe.ts";
import { testServer } from "../support/test-server.ts";
import { eventually } from "../task-faults/support/eventually.ts";
import { type PgBouncerOptions, pgbouncerProgram, startPgBouncer } from "./support/pgbouncer.ts";
import { type PooledRole, pooledRole } from "./support/pooled-role.ts";
import { refusalOf } from "./support/refusal-of.ts";
import { warningsOf } from "./support/warnings-of.ts";

const server = await testServer();
const pooler = pgbouncerProgram ? test.concurrent : test.skip;
const named = (name: string): string =>
  pgbouncerProgram ? name : `${name} (skipped: PgBouncer is not installed)`;

const startFor = (
  { name, password }: PooledRole,
  options: Omit<PgBouncerOptions, "serverUrl" | "passwords">,
) => startPgBouncer({ serverUrl: server.url, passwords: { [name]: password }, ...options });

/** Lets the role have what a refused start asks for, as an operator does. */
async function obey(refusal: string, databaseUrl: string): Promise<void> {
  const commands = refusal.match(/alter role [^;]+;/g) ?? [];
  expect(commands.length).toBeGreaterThan(5);
  await using sql = observer(databaseUrl, 1);
  for (const command of commands) await sql.unsafe(command);
}

/** What PgBouncer is to be told to ignore in session mode, from the message of a refused start. */
function ignoredParameters(refusal: string): Record<string, string> {
  const [, list] = /"ignore_startup_parameters = ([^"]+)"/.exec(refusal) ?? [];
  if (list === undefined) throw new Error(`the refusal names no parameters: ${refusal}`);
  return { ignore_startup_parameters: list };
}

const transactionMode = { transaction_pooler: true, poll_interval_ms: 200 };

/** A database, and a role that carries the settings of the engine. */
async function readyRole(driver: TestDriver): Promise<{ readonly url: string; readonly role: PooledRole }> {
  const { url } = await jobsDatabase();
  const role = await pooledRole(url);
  const start = () => startJobs({ url: role.url, driver, configuration: transactionMode });
  await obey(await refusalOf(start), url);
  return { url, role };
}

describe.each(drivers)("over the driver %s", (driver) => {
  pooler(
    named("a pooler in transaction mode is served once the refused starts have been obeyed"),
    async () => {
      const { url } = await jobsDatabase();
      await using sql = observer(url, 1);
      await using clock = databaseClock(url);
      await clock.freeze();
      const role = await pooledRole(url);
      const options = { poolMode: "transaction", settings: { default_pool_size: 3 } } as const;
      {
        await using bouncer = await startFor(role, options);
        const through = bouncer.through(role.url);
        const plain = await refusalOf(() => startJobs({ url: through, driver }));
        expect(plain).toStartWith("invalid_resolved_plan: ");
        expect(plain).toContain("set transaction_pooler: true");
        const start = () => startJobs({ url: through, driver, configuration: transactionMode });
        const refusal = await refusalOf(start);
        expect(refusal).toStartWith("invalid_resolved_plan: ");
        await obey(refusal, url);
      }
      // Restarted, as the refusal asks for.
      await using bouncer = await startFor(role, options);
      const through = bouncer.through(role.url);
      expect(await check({ databaseUrl: through, schema: "jobs" })).toMatchObject({ code: "startable" });
      await using jobs = await startJobs({ url: through, driver, configuration: transactionMode });
      await expectAllRight(jobs, clock);

      // A wait does not listen, and ends by looking.
      await using near = await startJobs({ url });
      expect(ok(await jobs.signals.wait({ queues: ["other"], timeout_ms: 300 }))).toEqual({ queue: null });
      expect(await sql`select from jobs.waiter`).toHaveLength(0);
      const ended = jobs.signals.wait({ queues: ["other"], timeout_ms: 60_000 });
      ok(await near.producer.enqueue(newJob({ queue: "other" })));
      expect(ok(await ended)).toEqual({ queue: "other" });
      await near.stop();
      await jobs.stop();
      await expectEachJobInOnePlace(sql);
    },
  );

  pooler(
    named("load through four server connections of a transaction pooler, killed meanwhile, loses no job"),
    async () => {
      const { url, role } = await readyRole(driver);
      await using sql = observer(url, 1);
      await using bouncer = await startFor(role, {
        poolMode: "transaction",
        settings: { default_pool_size: 4 },
      });
      const through = bouncer.through(role.url);
      const jobs = await startJobs({ url: through, driver, configuration: transactionMode });
      const load = startLoad(jobs);
      await eventually("work before the kill", async () => load.completed.size > 100);
      const killed =
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role.name}`;
      expect(killed.length).toBeWithin(1, 5);
      const before = load.completed.size;
      await eventually("work after the kill", async () => load.completed.size > before + 100);
      await load.stop();
      await jobs.stop();
      expect(await expectEachJobInOnePlace(sql)).toBe(load.accepted.size);
      const [row] = await sql`select count(*)::int as done from jobs.outcome where state = 's'`;
      expect(row.done).toBe(load.completed.size);
      const kinds = [...load.answers.keys()].filter((kind) => kind.startsWith("runtime:"));
      expect(kinds.filter((kind) => kind !== "runtime:unavailable")).toEqual([]);
    },
  );

  pooler(
    named("in session mode everything works, LISTEN included, once the refused starts have been obeyed"),
    async () => {
      const { url } = await jobsDatabase();
      await using sql = observer(url, 1);
      await using clock = databaseClock(url);
      await clock.freeze();
      const role = await pooledRole(url);
      const configuration = { poll_interval_ms: 60_000 };
      let settings: Record<string, string | number> = { default_pool_size: 40 };
      {
        await using bouncer = await startFor(role, { poolMode: "session", settings });
        const start = () => startJobs({ url: bouncer.through(role.url), driver });
        settings = { ...settings, ...ignoredParameters(await refusalOf(start)) };
      }
      {
        await using bouncer = await startFor(role, { poolMode: "session", settings });
        const refusal = await refusalOf(() => startJobs({ url: bouncer.through(role.url), driver }));
        expect(refusal).toStartWith("invalid_resolved_plan: ");
        await obey(refusal, url);
      }
      await using bouncer = await startFor(role, { poolMode: "session", settings });
      await using jobs = await startJobs({ url: bouncer.through(role.url), driver, configuration });
      await expectAllRight(jobs, clock);
      await using near = await startJobs({ url });
      const ended = jobs.signals.wait({ queues: ["other"], timeout_ms: 30_000 });
      await eventually("the registration", async () => (await sql`select from jobs.waiter`).length > 0);
      await Bun.sleep(1100); // past the first second nothing but a notification ends the wait before its time-out
      const enqueuedAt = performance.now();
      ok(await near.producer.enqueue(newJob({ queue: "other" })));
      expect(ok(await ended)).toEqual({ queue: "other" });
      expect(performance.now() - enqueuedAt).toBeLessThan(10_000);
      // What suffices in transaction mode does here too.
      await using cautious = await startJobs({
        url: bouncer.through(role.url),
        driver,
        configuration: transactionMode,
      });
      ok(await cautious.worker.complete(leaseOf(ok(await cautious.worker.claim({ queue: "other" })))));
      await cautious.stop();
      await near.stop();
      await jobs.stop();
      await expectEachJobInOnePlace(sql);
    },
  );
});

/** A transaction pooler that nobody told the plugin of: it takes the settings, and forgets statements and LISTEN. */
const undeclared = async (role: PooledRole) => {
  const probe = await startFor(role, { poolMode: "transaction" });
  const refusal = await refusalOf(() => startJobs({ url: probe.through(role.url) }));
  await probe.stop();
  const settings = { default_pool_size: 1, ...ignoredParameters(refusal) };
  return startFor(role, { poolMode: "transaction", settings });
};

pooler(
  named(
    "behind a transaction pooler that was not declared a wait still ends by looking, and one warning says why",
  ),
  async () => {
    const { url, role } = await readyRole("pg");
    await using sql = observer(url, 1);
    await using bouncer = await undeclared(role);
    const key = "jobs-deaf-pooler";
    using warnings = warningsOf(key);
    await using far = await startJobs({
      key,
      url: bouncer.through(role.url),
      driver: "pg",
      echoMs: 200,
      configuration: { poll_interval_ms: 100 },
    });
    const ended = far.signals.wait({ queues: ["mail"], timeout_ms: 60_000 });
    await eventually("the warning", async () => warnings.seen.length > 0);
    expect(warnings.seen[0]).toContain("set transaction_pooler: true");
    // Not through the process of the one that waits, nor with its help.
    await sql`delete from jobs.waiter`;
    await using near = await startJobs({ key, url });
    ok(await near.producer.enqueue(newJob()));
    expect(ok(await ended)).toEqual({ queue: "mail" });
    ok(await far.worker.complete(leaseOf(ok(await far.worker.claim({ queue: "mail" })))));
    expect(warnings.seen).toHaveLength(1);
  },
);

pooler(
  named(
    "a prepared statement that a transaction pooler lost is unavailable, and the answer says what to set",
  ),
  async () => {
    const { role } = await readyRole("bun");
    await using bouncer = await undeclared(role);
    const started = startJobs({ url: bouncer.through(role.url), driver: "bun", stopTimeoutMs: 2000 });
    const told = await started.then(
      async (jobs) => {
        const calls = Array.from({ length: 20 }, () => jobs.producer.enqueue(newJob()));
        const refused = (await Promise.all(calls)).find((result) => !result.ok);
        await jobs.stop();
        return refused && `${problem(refused)} ${detail(refused)}`;
      },
      (error: Error) => error.message,
    );
    expect(told).toContain("unavailable");
    expect(told).toContain("set transaction_pooler: true");
  },
);
