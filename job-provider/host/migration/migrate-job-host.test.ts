import { expect, test } from "bun:test";
import { SQL } from "bun";
import {
  type OperatorDatabase,
  operatorDatabase,
  urlAs,
} from "../../../plugin/operator/testing/operator-database.ts";
import { testDatabase } from "../../../tests/support/test-database.ts";
import { openHostWorld } from "../testing/host-world.ts";
import { migrateJobHost } from "./migrate-job-host.ts";

/** What is in a database, for comparison: every column, constraint, index and trigger of a schema. */
async function shapeOf(url: string, schema = "job_host"): Promise<unknown> {
  await using sql = new SQL(url, { max: 1 });
  return [
    await sql`select table_name, column_name, data_type, is_nullable from information_schema.columns where table_schema = ${schema} order by 1, 2`,
    await sql`select tablename, indexdef from pg_indexes where schemaname = ${schema} order by 1, 2`,
    await sql`select count(*)::int from pg_constraint where connamespace = ${schema}::regnamespace`,
    await sql`select tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = ${schema}::regnamespace and not tgisinternal order by 1`,
  ].map((rows) => JSON.stringify(rows));
}

test("installing eight times at once and once more installs once", async () => {
  const { url } = await testDatabase();
  await Promise.all(Array.from({ length: 8 }, () => migrateJobHost({ connectionString: url })));
  const before = await shapeOf(url);
  await migrateJobHost({ connectionString: url });
  expect(await shapeOf(url)).toEqual(before);
  await using sql = new SQL(url, { max: 1 });
  const [{ steps }] = await sql`select count(*)::int as steps from job_host.lenso_job_host_ledger`;
  expect(steps).toBe(1);
});

test("a schema that something else made is refused, never adopted, and a missing one names the command", async () => {
  await using world = await openHostWorld();
  const hostOn = (schema: string) => world.host({ database: { connectionString: world.url, schema } });
  await expect(migrateJobHost({ connectionString: world.url, schema: "jobs" })).rejects.toMatchObject({
    code: "schema-unfit",
  });
  for (const [host, said] of [
    [hostOn("jobs"), "was not made by migrateJobHost"],
    [hostOn("nowhere"), 'run migrateJobHost({ schema: "nowhere"'],
  ] as const) {
    const error: { readonly code?: string; readonly cause?: Error } = await host.list().then(
      () => ({}),
      (reason: unknown) => reason as object,
    );
    expect(error.code).toBe("schema-unfit");
    expect(error.cause?.message).toContain(said);
    await expect(host.startWorker().done).rejects.toMatchObject({ code: "schema-unfit" });
  }
});

test("options of a migration are checked, and a role that is missing or mighty is refused", async () => {
  const { url, query, createRole } = await operatorDatabase();
  const owner = await createRole();
  const database = decodeURIComponent(new URL(url).pathname.slice(1));
  await query(`grant create on database "${database}" to ${owner.quoted}`);
  for (const [options, said] of [
    [{}, "expected exactly one of connectionString and pool"],
    [{ connectionString: owner.url, schema: "public" }, "schema: expected"],
    [{ connectionString: owner.url, runtimeRole: "nobody_here" }, "does not exist"],
    [{ connectionString: owner.url, runtimeRole: owner.name }, "needs no grants"],
  ] as const) {
    const error: { readonly code?: string; readonly cause?: Error } = await migrateJobHost(options).then(
      () => ({}),
      (reason: unknown) => reason as object,
    );
    expect(error.code).toBe("invalid-options");
    expect(error.cause?.message).toContain(said);
  }
  const [row] = await query("select count(*)::int as made from pg_namespace where nspname = 'job_host'");
  expect(row).toMatchObject({ made: 0 });
  await query(`drop owned by ${owner.quoted}`);
});

test("a runtime role runs a host from submission to command, and may do nothing else", async () => {
  await using world = await openHostWorld();
  const { query, createRole } = await operatorDatabase();
  const role = await createRole();
  const url = urlAs(role, world.url);
  await query(
    `grant all on schema job_host to ${role.quoted}; grant all on job_host.event to ${role.quoted}`,
    world.url,
  );
  await migrateJobHost({ connectionString: world.url, runtimeRole: role.name });

  world.work.execute = async ({ workspace, publishArtifact, reportProgress, writeLog }) => {
    await workspace.write("out.txt", "x");
    await publishArtifact({ role: "mesh", path: "out.txt", mediaType: "text/plain" });
    await reportProgress({ phase: "all" });
    await writeLog({ level: "info", message: "hello" });
    return { cells: 1 };
  };
  const host = world.host({ database: { connectionString: url.href } });
  const reference = await world.accept(host);
  const request = { commandId: "a", expectedRevision: 1, value: { by: 1 } };
  expect(await host.command(reference, "replay-safe", request)).toEqual({ ok: true, value: 0 });
  const worker = host.startWorker();
  await Array.fromAsync(host.watch(reference));
  await worker.stop();
  expect(await host.result(reference)).toEqual({ state: "completed", value: { cells: 1 } });
  const cancelled = await world.accept(host);
  expect(await host.cancel(cancelled)).toMatchObject({ ok: true });
  await host.close();

  for (const statement of [
    "update job_host.event set state = 'failed'",
    "delete from job_host.event",
    "truncate job_host.event",
    "delete from job_host.job",
    "update job_host.job set input = '{}'",
    "update job_host.job set request_digest = ''",
    "update job_host.artifact set digest = ''",
    "delete from job_host.artifact",
    "update job_host.log set message = ''",
    "update job_host.command set value = '1'",
    "delete from job_host.command",
    "alter table job_host.event disable trigger append_only",
    "create table job_host.mine ()",
  ])
    expect([statement, await codeAs(query, url.href, statement)]).toEqual([statement, "42501"]);
  await query(`drop owned by ${role.quoted}`, world.url);
});

test("a role without rights is told what gives them, and an absent database where it is not", async () => {
  await using world = await openHostWorld();
  const { query, createRole } = await operatorDatabase();
  const role = await createRole();
  const url = urlAs(role, world.url);
  await query(`grant connect on database "${url.pathname.slice(1)}" to ${role.quoted}`, world.url);
  const host = world.host({ database: { connectionString: url.href } });
  await expect(host.list()).rejects.toMatchObject({
    code: "schema-unfit",
    message: expect.stringContaining("(42501): migrate as the schema's owner, with the host's role"),
  });
  await expect(migrateJobHost({ connectionString: url.href, schema: "mine" })).rejects.toMatchObject({
    code: "schema-unfit",
    message: expect.stringContaining("as a role that may create schemas"),
  });
  await query(`drop owned by ${role.quoted}`, world.url);
  url.pathname = "/nowhere";
  const lost = world.host({ database: { connectionString: url.href } });
  await expect(lost.list()).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/\/nowhere does not exist \(3D000\)$/),
  });
});

test("events are append-only for the owner too", async () => {
  await using world = await openHostWorld();
  await world.accept(world.host());
  for (const statement of [
    "update event set at = at",
    "delete from event",
    "truncate event cascade",
    "update event set at = at where false",
  ])
    await expect((async () => world.sql.unsafe(statement).simple())()).rejects.toThrow("append-only");
});

/** The role's answer to a statement: "allowed", or its SQLSTATE. */
async function codeAs(query: OperatorDatabase["query"], url: string, statement: string): Promise<string> {
  return query(statement, url).then(
    () => "allowed",
    (error: unknown) => (error instanceof SQL.PostgresError ? String(error.errno) : String(error)),
  );
}
