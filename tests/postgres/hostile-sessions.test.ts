import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { SQL } from "bun";
import { databaseClock } from "../../host-fixtures/index.ts";
import { setup } from "../../plugin/operator/index.ts";
import { afterTestFile } from "../support/after-test-file.ts";
import { testServer } from "../support/test-server.ts";
import { expectAllRight } from "./support/expect-all-right.ts";
import { leaseOf, newJob, ok, problem } from "./support/jobs.ts";
import { jobsDatabase, prepareJobsDatabase } from "./support/jobs-database.ts";
import { drivers, startJobs, type TestDriver } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer, pluginConnections, until } from "./support/observe.ts";

const server = await testServer();
const roles: string[] = [];
const admin: SQL = observer(server.url, 1);
afterTestFile(async () => {
  for (const role of roles) await admin.unsafe(`drop role if exists ${role}`);
  await admin.close();
});

/** A role that may just use the schema, with these defaults, and its URL. */
async function hostileRole(
  url: string,
  settings: Readonly<Record<string, string>>,
): Promise<{ role: string; url: string }> {
  const role = `hostile_${randomBytes(5).toString("hex")}`;
  roles.unshift(role);
  await admin.unsafe(`create role ${role} login password 'ordinary'`);
  for (const [name, value] of Object.entries(settings))
    await admin.unsafe(`alter role ${role} set ${name} = ${value}`);
  const report = await setup({ databaseUrl: url, schema: "jobs", runtimeRole: role });
  if (!report.ok) throw new Error(report.message);
  const own = new URL(url);
  own.username = role;
  own.password = "ordinary";
  return { role, url: own.href };
}

const hostile: Record<string, Readonly<Record<string, string>>> = {
  "another time zone and foreign dates": {
    timezone: "'Pacific/Auckland'",
    datestyle: "'SQL, DMY'",
    intervalstyle: "'sql_standard'",
  },
  "German dates": { timezone: "'America/St_Johns'", datestyle: "'German'", intervalstyle: "'iso_8601'" },
  "serializable transactions": {
    default_transaction_isolation: "'serializable'",
    default_transaction_deferrable: "on",
  },
  "an empty search path": { search_path: "''" },
  "a search path with strange functions first": { search_path: "strange, pg_catalog" },
  "a statement time-out of half a second": {
    statement_timeout: "'500ms'",
    lock_timeout: "'1ms'",
    idle_in_transaction_session_timeout: "'500ms'",
  },
  "old text rules": {
    standard_conforming_strings: "off",
    bytea_output: "'escape'",
    extra_float_digits: "'-15'",
    array_nulls: "off",
    transform_null_equals: "on",
  },
  "plans of its own": {
    enable_indexscan: "off",
    enable_nestloop: "off",
    plan_cache_mode: "'force_custom_plan'",
    jit: "on",
    work_mem: "'64kB'",
  },
  "repeatable reads, and no row security": {
    default_transaction_isolation: "'repeatable read'",
    row_security: "off",
    default_tablespace: "''",
    default_toast_compression: "'pglz'",
  },
  "formats of messages, numbers and XML": {
    lc_messages: "'C'",
    lc_numeric: "'C'",
    lc_monetary: "'C'",
    xmlbinary: "'hex'",
    gin_fuzzy_search_limit: "1",
  },
  "another encoding": { client_encoding: "'LATIN1'" },
  "asynchronous commits": { synchronous_commit: "off" },
};

describe.each(drivers)("over the driver %s", (driver: TestDriver) => {
  test.each(Object.keys(hostile))("a role whose defaults are %s changes nothing", async (name) => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    await using clock = databaseClock(url);
    await clock.freeze();
    await sql
      .unsafe(`create schema strange; create function strange.make_interval(secs float8) returns interval language sql as $$ select interval '1 year' $$;
      create function strange.sha256(bytea) returns bytea language sql as $$ select ''::bytea $$; grant usage on schema strange to public`)
      .simple();
    const role = await hostileRole(url, hostile[name] ?? {});
    await using jobs = await startJobs({ url: role.url, driver });
    await expectAllRight(jobs, clock);
    await jobs.stop();
    await expectEachJobInOnePlace(sql);
    await sql.unsafe(`drop owned by ${role.role}`);
  });

  test("a role with all of these defaults at once changes nothing", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    await using clock = databaseClock(url);
    await clock.freeze();
    await sql.unsafe("create schema strange; grant usage on schema strange to public").simple();
    const role = await hostileRole(url, Object.assign({}, ...Object.values(hostile)));
    await using jobs = await startJobs({ url: role.url, driver });
    await expectAllRight(jobs, clock);
    await jobs.stop();
    await expectEachJobInOnePlace(sql);
    await sql.unsafe(`drop owned by ${role.role}`);
  });

  test("a role that is read-only by default is told so at the start, and starts when it may write", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    await using clock = databaseClock(url);
    await clock.freeze();
    const role = await hostileRole(url, { default_transaction_read_only: "on" });
    const refusal = await startJobs({ url: role.url, driver }).then(
      () => "started",
      (error: Error) => error.message,
    );
    expect(refusal).toStartWith("unavailable: ");
    expect(refusal).toContain("read-only");
    expect(await sql.unsafe("select from jobs.instance")).toHaveLength(0);
    await sql.unsafe(`alter role ${role.role} reset default_transaction_read_only`);
    await using jobs = await startJobs({ url: role.url, driver });
    await expectAllRight(jobs, clock);
    await jobs.stop();
    await sql.unsafe(`drop owned by ${role.role}`);
  });

  test("a server that ends idle sessions costs no call", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    await using clock = databaseClock(url);
    await clock.freeze();
    const role = await hostileRole(url, { idle_session_timeout: "'1s'" });
    await using jobs = await startJobs({ url: role.url, driver });
    await expectAllRight(jobs, clock);
    await until("the end of every idle session", async () => (await pluginConnections(sql)) === 0);
    expect(problem(await jobs.worker.claim({ queue: "other" }))).toBe("no_job_available");
    ok(await jobs.producer.enqueue(newJob({ queue: "other" })));
    ok(await jobs.worker.complete(leaseOf(ok(await jobs.worker.claim({ queue: "other" })))));
    await jobs.stop();
    await expectEachJobInOnePlace(sql);
    await sql.unsafe(`drop owned by ${role.role}`);
  });

  test("behind a transaction pooler the role's missing settings are named as commands, which suffice", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    await using clock = databaseClock(url);
    await clock.freeze();
    const role = await hostileRole(url, { timezone: "'Pacific/Auckland'" });
    const start = () => startJobs({ url: role.url, driver, configuration: { transaction_pooler: true } });
    const refusal = await start().then(
      () => "started",
      (error: Error) => error.message,
    );
    expect(refusal).toStartWith("invalid_resolved_plan: ");
    const commands = refusal.match(/alter role [^;]+;/g) ?? [];
    for (const setting of ["plan_cache_mode", "enable_seqscan", "TimeZone", "search_path", "jit"])
      expect(commands.join("\n")).toContain(`alter role "${role.role}" set ${setting} = '`);
    for (const command of commands) await sql.unsafe(command);

    await using jobs = await start();
    await expectAllRight(jobs, clock);
    await jobs.stop();
    await sql.unsafe(`drop owned by ${role.role}`);
  });

  test("on a database with another collation the order of keys and names changes nothing", async () => {
    const name = `collated_${randomBytes(5).toString("hex")}`;
    const [icu] =
      await admin`select collname from pg_collation where collprovider = 'i' and collname = 'en-x-icu'`;
    const locale = icu ? "locale_provider icu icu_locale 'en-US' locale 'C'" : "locale 'C.UTF-8'";
    const created = await admin
      .unsafe(`create database ${name} template template0 encoding 'UTF8' ${locale}`)
      .then(
        () => true,
        () => false, // PostgreSQL 14 has no database of this kind
      );
    if (!created) return;
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    try {
      await prepareJobsDatabase(url.href);
      await using clock = databaseClock(url.href);
      await clock.freeze();
      await using jobs = await startJobs({ url: url.href, driver });
      await expectAllRight(jobs, clock);
      const keys = ["a", "B", "A", "b", "a-b", "ab", "a.b", "_", "Z"];
      const both = [...keys, ...keys.toReversed()].map((key) =>
        jobs.producer.enqueue(newJob({ idempotency_key: key, payload: {}, kind: key })),
      );
      expect((await Promise.all(both)).filter((result) => ok(result).created)).toHaveLength(keys.length);
      await jobs.stop();
    } finally {
      await server.dropDatabase(name);
    }
  });
});
