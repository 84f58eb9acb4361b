import { expect, test } from "bun:test";
import { SQL } from "bun";
import pg from "pg";
import type { JobsClient } from "../../capability/index.ts";
import { parseMigration } from "../../plugin/store/schema/migrations.ts";
import { testDatabase } from "../../tests/support/test-database.ts";
import { createJobsTaskProvider } from "./create-jobs-task-provider.ts";
import { migrateJobsTaskQueue, migrateWith } from "./migration/migrate-jobs-task-queue.ts";
import { readMigrationsOf } from "./migration/migrations.ts";
import { taskSchema } from "./migration/schema-owner.ts";
import { newTask } from "./testing/given.ts";

const down = async () => ({
  ok: false,
  error: { kind: "runtime", error: { kind: "unavailable", detail: "down" } },
});
const jobs = Object.fromEntries(
  ["claim", "complete", "enqueue", "fail", "inspect", "renew"].map((name) => [name, down]),
) as unknown as JobsClient;
const providerOn = (connectionString: string, schema = "tasks") =>
  createJobsTaskProvider({ jobs, queue: "tasks", leaseSeconds: 30, connectionString, schema });

/** What is in a database, for comparison: every column, constraint and index of a schema. */
async function shapeOf(url: string, schema = "tasks"): Promise<unknown> {
  await using sql = new SQL(url, { max: 1 });
  return [
    await sql`select table_name, column_name, data_type, is_nullable from information_schema.columns where table_schema = ${schema} order by 1, 2`,
    await sql`select tablename, indexdef from pg_indexes where schemaname = ${schema} order by 1, 2`,
    await sql`select count(*)::int from pg_constraint where connamespace = ${schema}::regnamespace`,
  ].map((rows) => JSON.stringify(rows));
}

test("installing twice changes nothing", async () => {
  const { url } = await testDatabase();
  await migrateJobsTaskQueue({ connectionString: url });
  const before = await shapeOf(url);
  await migrateJobsTaskQueue({ connectionString: url, queue: "tasks", leaseSeconds: 30 });
  expect(await shapeOf(url)).toEqual(before);
});

test("sixteen that install at once all succeed, and each step is applied once", async () => {
  const { url } = await testDatabase();
  await Promise.all(Array.from({ length: 16 }, () => migrateJobsTaskQueue({ connectionString: url })));
  await using sql = new SQL(url, { max: 1 });
  const [{ steps }] = await sql`select count(*)::int as steps from tasks.lenso_tasks_ledger`;
  expect(steps).toBe((await readMigrationsOf(taskSchema)).length);
});

test("a borrowed pg.Pool or Bun.SQL installs as well, and stays open", async () => {
  const { url } = await testDatabase();
  const pool = new pg.Pool({ connectionString: url });
  await using sql = new SQL(url);
  await migrateJobsTaskQueue({ pool, schema: "lent_a" });
  await migrateJobsTaskQueue({ pool: sql, schema: "lent_b" });
  expect(JSON.stringify(await shapeOf(url, "lent_a")).replaceAll("lent_a", "lent_b")).toEqual(
    JSON.stringify(await shapeOf(url, "lent_b")),
  );
  expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  await pool.end();
});

const next = (text: string, oldest: number) =>
  parseMigration("0002_next.sql", `-- The previous release runs on it. Oldest build: ${oldest}\n${text}`);

test("a schema that is behind is brought up to date, all or nothing", async () => {
  const { url } = await testDatabase();
  await migrateJobsTaskQueue({ connectionString: url });
  const known = await readMigrationsOf(taskSchema);
  const before = await shapeOf(url);
  const broken = next("alter table task add column extra text; select 1 / 0;", 1);
  await expect(migrateWith([...known, broken], { connectionString: url })).rejects.toMatchObject({
    code: "provider-unavailable",
    phase: "migrate",
    cause: { code: "22012" },
  });
  expect(await shapeOf(url)).toEqual(before);
  await migrateWith([...known, next("alter table task add column extra text;", 1)], {
    connectionString: url,
  });
  await using sql = new SQL(url, { max: 1 });
  const [{ version }] = await sql`select max(version)::int as version from tasks.lenso_tasks_ledger`;
  expect(version).toBe(known.length + 1);
});

test("a newer schema is worked with as far as it allows, and refused otherwise", async () => {
  const { url } = await testDatabase();
  const known = await readMigrationsOf(taskSchema);
  await migrateWith([...known, next("select 1;", 1)], { connectionString: url });
  const provider = providerOn(url);
  expect(await provider.get(crypto.randomUUID())).toBeNull();
  await provider.close();
  await migrateWith([...known, next("select 1;", 2)], { connectionString: url, schema: "newer" });
  const old = providerOn(url, "newer");
  await expect(old.get(crypto.randomUUID())).rejects.toThrow("takes build 2 or newer, and this is build 1");
  await old.close();
  await expect(migrateJobsTaskQueue({ connectionString: url, schema: "newer" })).rejects.toMatchObject({
    code: "provider-unavailable",
  });
});

test("starting on a missing or older schema does no DDL and names the command", async () => {
  const { url } = await testDatabase();
  const provider = providerOn(url);
  await expect(provider.enqueue(newTask())).rejects.toThrow(
    'run migrateJobsTaskQueue({ schema: "tasks", … })',
  );
  const worker = provider.startWorker(async () => ({ ok: true, result: null }), { concurrency: 1 });
  await Bun.sleep(100);
  await worker.stop();
  await using sql = new SQL(url, { max: 1 });
  expect([...(await sql`select nspname from pg_namespace where nspname = 'tasks'`)]).toEqual([]);

  await migrateJobsTaskQueue({ connectionString: url });
  await provider.enqueue(newTask()); // the same provider, once the schema is there
  await provider.close();

  await sql`delete from tasks.lenso_tasks_ledger`;
  const older = providerOn(url);
  await expect(older.get(crypto.randomUUID())).rejects.toThrow("is at version 0, this build needs 1: run");
  await older.close();
});

test("a schema that something else made is refused, never adopted", async () => {
  const { url } = await testDatabase();
  await using sql = new SQL(url, { max: 1 });
  await sql`create schema tasks`;
  await expect(migrateJobsTaskQueue({ connectionString: url })).rejects.toMatchObject({
    cause: { message: expect.stringContaining("never adopts one") },
  });
  const [{ tables }] = await sql`select count(*)::int as tables from pg_tables where schemaname = 'tasks'`;
  expect(tables).toBe(0);
});

test("a migration that was changed after its release is found", async () => {
  const { url } = await testDatabase();
  await migrateJobsTaskQueue({ connectionString: url });
  await using sql = new SQL(url, { max: 1 });
  await sql`update tasks.lenso_tasks_ledger set checksum = ${"0".repeat(64)}`;
  const provider = providerOn(url);
  await expect(provider.get(crypto.randomUUID())).rejects.toThrow("has diverged");
  await provider.close();
});

test("without the schema an enqueue and a worker say the same, and which function to run", async () => {
  const { url } = await testDatabase();
  const provider = providerOn(url);
  const worker = provider.startWorker(async () => ({ ok: true, result: null }), { concurrency: 1 });
  const asks = [
    () => provider.enqueue(newTask()),
    () => provider.get(crypto.randomUUID()),
    () => worker.done,
  ];
  for (const ask of asks)
    await expect(ask()).rejects.toMatchObject({
      code: "invalid-options",
      message: expect.stringContaining('schema "tasks" does not exist: run migrateJobsTaskQueue'),
    });
  await provider.close();
});
