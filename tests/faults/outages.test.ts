import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import { type PostgresServer, startPostgres } from "../../host-fixtures/index.ts";
import { setup } from "../../plugin/operator/index.ts";
import { newJob, ok, problem } from "../postgres/support/jobs.ts";
import { prepareJobsDatabase } from "../postgres/support/jobs-database.ts";
import { drivers, type JobsHost, startJobs } from "../postgres/support/jobs-host.ts";
import { expectEachJobInOnePlace, observer, until } from "../postgres/support/observe.ts";
import { type Load, startLoad } from "./support/load.ts";

// A server of its own, since these tests take it down.
let server: PostgresServer;
const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeAll(async () => {
  const binaries = process.env.LENSO_TEST_POSTGRES_BINARIES;
  server = await startPostgres({ ...(binaries && { binaries }), settings: { max_connections: 30 } });
  process.on("unhandledRejection", note);
}, 60_000);
afterAll(async () => {
  process.off("unhandledRejection", note);
  await server.stop();
});

const killBackends =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'lenso-jobs'";

async function freshDatabase(): Promise<string> {
  const url = await server.createDatabase();
  await prepareJobsDatabase(url);
  return url;
}

/** Nothing lost, nothing done twice, everything in one place; a completion that was answered is there. */
async function expectNothingLost(sql: SQL, load: Load): Promise<void> {
  expect(await expectEachJobInOnePlace(sql)).toBe(load.accepted.size);
  const [row] = await sql`select count(*)::int as done from jobs.outcome where state = 's'`;
  expect(row.done).toBe(load.completed.size);
  const kinds = new Set(load.answers.keys());
  for (const allowed of ["ok", "no_job_available", "invalid_lease", "runtime:unavailable"])
    kinds.delete(allowed);
  expect([...kinds]).toEqual([]);
  expect(unhandled).toEqual([]);
}

async function underLoad(jobs: JobsHost, fault: (load: Load) => Promise<void>): Promise<Load> {
  const load = startLoad(jobs);
  await until("work before the fault", async () => load.completed.size > 50);
  await fault(load);
  const before = load.completed.size;
  await until("work after the fault", async () => load.completed.size > before + 50, 30_000);
  await load.stop();
  return load;
}

describe.each(drivers)("over the driver %s", (driver) => {
  test.each(["fast", "immediate"] as const)(
    "a restart of the server (%s) under load loses no job and finishes none twice",
    async (mode) => {
      const url = await freshDatabase();
      const jobs = await startJobs({ url, driver });
      const load = await underLoad(jobs, () => server.restart({ mode }));
      await jobs.stop();
      await using sql = observer(url, 1);
      await expectNothingLost(sql, load);
    },
    60_000,
  );

  test("backends that are killed again and again under load lose no job and finish none twice", async () => {
    const url = await freshDatabase();
    await using sql = observer(url, 1);
    const jobs = await startJobs({ url, driver });
    const load = await underLoad(jobs, async ({ completed }) => {
      for (let round = 0; round < 8; round += 1) {
        await sql.unsafe(killBackends);
        const before = completed.size;
        await until("some work between two kills", async () => completed.size > before + 5);
      }
    });
    await jobs.stop();
    await expectNothingLost(sql, load);
  }, 60_000);

  test("a role that turned read-only makes calls unavailable, and they work again when it may write", async () => {
    const url = await freshDatabase();
    await using sql = observer(url, 1);
    const jobs = await startJobs({ url, driver });
    ok(await jobs.producer.enqueue(newJob()));
    const database = new URL(url).pathname.slice(1);
    await sql.unsafe(`alter database "${database}" set default_transaction_read_only = on`);
    await sql.unsafe(killBackends);
    let saw25006 = false;
    await until("a refusal for reading only", async () => {
      const result = await jobs.producer.enqueue(newJob());
      if (!result.ok) expect(problem(result)).toBe("runtime:unavailable");
      else await sql.unsafe(killBackends); // a connection that was just being made had read the setting before it changed
      saw25006 ||= JSON.stringify(result).includes("25006");
      return saw25006;
    });
    const admin = observer(server.url, 1);
    await admin.unsafe(`alter database "${database}" reset default_transaction_read_only`);
    await admin.close();
    // The connections that were opened meanwhile are replaced by themselves: nobody ends them here.
    await until("a call to be answered", async () => (await jobs.producer.enqueue(newJob())).ok);
    await jobs.stop();
    await expectEachJobInOnePlace(sql);
    expect(unhandled).toEqual([]);
  }, 30_000);

  test("a role without a free connection makes calls unavailable, and they work again when there are some", async () => {
    const url = await freshDatabase();
    await using sql = observer(url, 1);
    const role = `limited_${driver}`;
    await sql.unsafe(`create role ${role} login password 'ordinary'`);
    expect((await setup({ databaseUrl: url, schema: "jobs", runtimeRole: role })).ok).toBe(true);
    const own = new URL(url);
    own.username = role;
    own.password = "ordinary";
    const jobs = await startJobs({ url: own.href, driver });
    ok(await jobs.producer.enqueue(newJob()));
    await sql.unsafe(`alter role ${role} connection limit 0`);
    await sql.unsafe(killBackends);
    await until("a refusal for lack of connections", async () => {
      const result = await jobs.producer.enqueue(newJob());
      if (!result.ok) expect(problem(result)).toBe("runtime:unavailable");
      return JSON.stringify(result).includes("53300");
    });
    await sql.unsafe(`alter role ${role} connection limit -1`);
    await until("a call to be answered", async () => (await jobs.producer.enqueue(newJob())).ok);
    await jobs.stop();
    await expectEachJobInOnePlace(sql);
    expect(unhandled).toEqual([]);
  }, 30_000);
});
