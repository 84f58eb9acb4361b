import { describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { setup } from "../../plugin/operator/index.ts";
import { operatorDatabase } from "../../plugin/operator/testing/operator-database.ts";
import { runtimeGrants } from "../../plugin/store/schema/runtime-grants.ts";
import { afterTestFile } from "../support/after-test-file.ts";

const denied = "42501";

/** A schema of ours with a runtime role, and one that belongs to somebody else, all in a database of their own. */
async function givenRuntimeRole() {
  const database = await operatorDatabase();
  const role = await database.createRole();
  const owner = await database.createRole();
  const name = decodeURIComponent(new URL(database.url).pathname.slice(1));
  await database.query(`grant create on database "${name}" to ${owner.quoted}`);
  const report = await setup({ databaseUrl: owner.url, schema: "jobs", runtimeRole: role.name });
  if (!report.ok) throw new Error(report.message);
  await database.query("create schema elsewhere; create table elsewhere.secret as select 1 as x");
  // What the documentation tells an operator to take from everybody.
  await database.query(`revoke temporary on database "${name}" from public`);
  await database.query("revoke create on schema public from public");
  const session = new SQL(role.url, { max: 1 });
  afterTestFile(() => session.close());
  return { ...database, role, owner, session };
}

type World = Awaited<ReturnType<typeof givenRuntimeRole>>;
const world = givenRuntimeRole();

/** What came of a statement: `allowed`, or the SQLSTATE of its refusal. Nothing of it stays. */
async function attempt(session: SQL, statement: string): Promise<string> {
  try {
    // One simple query is one transaction: the division at its end takes back what was allowed.
    await session.unsafe(`${statement}; select 1 / 0`).simple();
    return "allowed and kept";
  } catch (error) {
    if (!(error instanceof SQL.PostgresError)) throw error;
    return error.errno === "22012" ? "allowed" : String(error.errno);
  }
}

async function columnsOf({ query }: World, table: string): Promise<{ name: string; generated: boolean }[]> {
  const rows = await query(
    `select attname::text as name, attidentity <> '' as generated from pg_attribute
     where attrelid = 'jobs.${table}'::regclass and attnum > 0 and not attisdropped order by attnum`,
  );
  return rows.map((row) => ({ name: String(row.name), generated: row.generated === true }));
}

describe("the runtime role", () => {
  test("the list of grants names every table of the schema", async () => {
    const { query } = await world;
    const rows = await query(
      "select relname::text as table from pg_class where relnamespace = 'jobs'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f') order by 1",
    );
    expect(rows.map((row) => String(row.table))).toEqual(runtimeGrants.map(({ table }) => table).sort());
  });

  test.each(runtimeGrants.map((grant) => [grant.table, grant] as const))(
    "may do to %s exactly what the list says, tried statement by statement",
    async (table, { privileges, updatable = [] }) => {
      const given = await world;
      const { session } = given;
      const columns = await columnsOf(given, table);
      const first = columns[0]?.name ?? "";
      const writable = columns.flatMap((column) => (column.generated ? [] : [column.name])).join(", ");
      const tried: [what: string, statement: string, allowed: boolean][] = [
        ["select", `select * from jobs.${table}`, privileges.includes("select")],
        ["select of no column", `select count(*) from jobs.${table}`, privileges.includes("select")],
        [
          "insert",
          `insert into jobs.${table} (${writable}) select ${writable} from jobs.${table} where false`,
          privileges.includes("insert"),
        ],
        ["delete", `delete from jobs.${table} where false`, privileges.includes("delete")],
        ["truncate", `truncate jobs.${table}`, false],
        [
          "lock rows",
          `select * from jobs.${table} for update`,
          privileges.includes("update") || updatable.length > 0,
        ],
        [
          "lock the table",
          `lock table jobs.${table} in access exclusive mode`,
          privileges.includes("update") || privileges.includes("delete"),
        ],
        [
          "add a trigger",
          `create trigger t before insert on jobs.${table} for each row execute function suppress_redundant_updates_trigger()`,
          false,
        ],
        ["disable triggers", `alter table jobs.${table} disable trigger all`, false],
        ["add a column", `alter table jobs.${table} add column extra int`, false],
        ["drop a column", `alter table jobs.${table} drop column ${first}`, false],
        ["rename", `alter table jobs.${table} rename to other`, false],
        ["move", `alter table jobs.${table} set schema public`, false],
        ["take", `alter table jobs.${table} owner to current_user`, false],
        ["add an index", `create index on jobs.${table} (${first})`, false],
        ["add a rule", `create rule r as on insert to jobs.${table} do instead nothing`, false],
        ["add a policy", `create policy p on jobs.${table}`, false],
        ["force policies", `alter table jobs.${table} enable row level security`, false],
        ["comment", `comment on table jobs.${table} is 'x'`, false],
        [
          "gather statistics by a definition",
          `create statistics jobs.s on ${columns
            .slice(0, 2)
            .map((column) => column.name)
            .join(", ")} from jobs.${table}`,
          false,
        ],
        ["set a parameter", `alter table jobs.${table} set (autovacuum_enabled = off)`, false],
        ["cluster", `cluster jobs.${table} using ${table}_pkey`, false],
        ["reindex", `reindex table jobs.${table}`, false],
        ["copy to a program", `copy jobs.${table} to program 'true'`, false],
        ["drop", `drop table jobs.${table} cascade`, false],
        ...columns
          .filter((column) => !column.generated)
          .map(({ name }): [string, string, boolean] => [
            `update ${name}`,
            `update jobs.${table} set ${name} = ${name} where false`,
            privileges.includes("update") || updatable.includes(name),
          ]),
      ];
      for (const [what, statement, allowed] of tried) {
        const got = await attempt(session, statement);
        expect({ what, got }).toEqual({ what, got: allowed ? "allowed" : denied });
      }
    },
  );

  test.each([
    ["schema", "create table jobs.t (x int)"],
    ["schema", "create view jobs.v as select 1"],
    ["schema", "create sequence jobs.s"],
    ["schema", "create type jobs.t as enum ('a')"],
    ["schema", "create domain jobs.d as int"],
    ["schema", "create function jobs.f() returns int language sql as 'select 1'"],
    ["schema", "create operator jobs.<-> (function = int4pl, leftarg = int, rightarg = int)"],
    ["schema", 'create collation jobs.c from "C"'],
    ["schema", "create materialized view jobs.m as select 1"],
    ["schema", "create text search dictionary jobs.d (template = simple)"],
    ["schema", "alter schema jobs rename to other"],
    ["schema", "alter schema jobs owner to current_user"],
    ["schema", "drop schema jobs cascade"],
    ["schema", "comment on schema jobs is 'x'"],
    [
      "schema",
      "alter default privileges in schema jobs grant select on tables to public; create table jobs.t (x int)",
    ],
    ["a sequence", "select nextval('jobs.jobs_id_seq')"],
    ["a sequence", "select setval('jobs.jobs_id_seq', 1)"],
    ["a sequence", "select last_value from jobs.jobs_id_seq"],
    ["a sequence", "alter sequence jobs.jobs_id_seq restart"],
    ["an index", "drop index jobs.jobs_key"],
    ["an index", "alter index jobs.jobs_key rename to other"],
    ["the database", "create schema mine"],
    ["the database", "create temporary table t (x int)"],
    ["the database", "create table public.t (x int)"],
    ["the database", "create extension pg_trgm"],
    ["the database", "create publication p for all tables"],
    ["the database", "create event trigger e on ddl_command_start execute function pg_catalog.now()"],
    ["the database", "create foreign data wrapper w"],
    ["the database", "create language mine handler plpgsql_call_handler"],
    ["the database", "create cast (text as int) without function"],
    ["other schemas", "select * from elsewhere.secret"],
    ["other schemas", "create table elsewhere.t (x int)"],
    ["other roles", "create role mine"],
    ["other roles", "alter role current_user superuser"],
    ["other roles", "alter role current_user createrole"],
    ["other roles", "set role postgres"],
    ["other roles", "set session authorization postgres"],
    ["other roles", "grant pg_read_all_data to current_user"],
    ["other roles", "select rolpassword from pg_authid"],
    ["the server", "select pg_read_file('postgresql.conf')"],
    ["the server", "select pg_ls_dir('.')"],
    ["the server", "select lo_import('/etc/hostname')"],
    ["the server", "copy (select 1) to '/tmp/lenso-never-written'"],
    ["the server", "copy (select 1) to program 'true'"],
    ["the server", "select pg_reload_conf()"],
    ["the server", "set log_statement = 'all'"],
    ["the server", "set session_replication_role = 'replica'"],
  ] as const)("has no way to change %s: %s", async (_, statement) => {
    const { session } = await world;
    expect(await attempt(session, statement)).toBe(denied);
  });

  // What SECURITY.md says that nothing prevents. A statement that is refused one day belongs into the list above.
  test.each([
    [
      "add a job under an id of its choice",
      `insert into jobs.jobs (id, producer, queue, requested_at, created_at, max_attempts, nonce, intent, kind, idempotency_key, payload)
       overriding system value values (9000000000000000000, 1, 1, now(), now(), 1, '', '', 'k', 'k', '{}')`,
    ],
    [
      "add an outcome for a job that waits, or that is none",
      `insert into jobs.ready (queue, next_run, id, updated_at, bytes, max_attempts) values (1, now(), 7, now(), 0, 1);
       insert into jobs.outcome (id, next_run, finished_at, attempt, state, operation) values (7, now(), now(), 0, 's', 'c')`,
    ],
    [
      "make a finished job claimable",
      `insert into jobs.outcome (id, next_run, finished_at, attempt, state, operation) values (7, now(), now(), 0, 's', 'c');
       insert into jobs.ready (queue, next_run, id, updated_at, bytes, max_attempts) values (1, now(), 7, now(), 0, 1)`,
    ],
    ["take every job out of its queue", "delete from jobs.ready; delete from jobs.lease"],
    [
      "change who holds a lease",
      "update jobs.lease set owner = 1, token = '', attempt = 0, expires_at = 'infinity'",
    ],
    ["record the Instance", "insert into jobs.instance (instance_key, recorded_at) values ('k', now())"],
    ["add a name", "insert into jobs.name (hash, name) values (1, 'n')"],
    ["keep an upgrade waiting by a lock", "lock table jobs.jobs in row exclusive mode"],
    ["keep the operator's commands waiting", "select pg_advisory_xact_lock(1)"],
    ["keep large objects in the database", "select lo_from_bytea(0, 'x')"],
    ["notify any channel", "notify lenso_jobs_anything, '1'"],
    ["run code of its own in the server", "do $$ begin perform 1; end $$"],
    [
      "set its own limits",
      "set statement_timeout = 0; set work_mem = '1GB'; alter role current_user set work_mem = '1GB'",
    ],
    ["change its own password", "alter role current_user password 'x'"],
    ["read what other schemas are made of", "select relname from pg_class where relname = 'secret'"],
    [
      "end sessions of its own",
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid()",
    ],
  ])("may, with its password and by hand, %s", async (_, statement) => {
    const { session } = await world;
    expect(await attempt(session, statement)).toBe("allowed");
  });

  test("can give nobody else what it has", async () => {
    const { query, session } = await world;
    const rights = () =>
      query(
        `select relname::text as name, relacl::text as rights from pg_class where relnamespace = 'jobs'::regnamespace
         union all select nspname::text, nspacl::text from pg_namespace where nspname = 'jobs' order by 1, 2`,
      );
    const before = await rights();
    // Without the right to grant, PostgreSQL warns and grants nothing.
    await session
      .unsafe("grant usage on schema jobs to public; grant select on all tables in schema jobs to public")
      .simple();
    expect(await rights()).toEqual(before);
  });

  test("can neither become the owner nor end the owner's sessions", async () => {
    const { session, owner } = await world;
    for (const statement of [
      `set role ${owner.quoted}`,
      `reassign owned by ${owner.quoted} to current_user`,
      `drop owned by ${owner.quoted}`,
      `grant ${owner.quoted} to current_user`,
      `alter role ${owner.quoted} password 'x'`,
    ]) {
      expect([statement, await attempt(session, statement)]).toEqual([statement, denied]);
    }
    await using sql = new SQL(owner.url, { max: 1 });
    const [own] = await sql`select pg_backend_pid() as pid`;
    expect(await attempt(session, `select pg_terminate_backend(${own.pid})`)).toBe(denied);
    expect((await sql`select 1 as alive`)[0].alive).toBe(1);
  });

  test("loses every other right in the schema that it had been given before", async () => {
    const { query, session, role, owner } = await world;
    await query(
      `grant all on all tables in schema jobs to ${role.quoted}; grant all on all sequences in schema jobs to ${role.quoted};
       grant update (payload) on jobs.jobs to ${role.quoted}; grant create on schema jobs to ${role.quoted}`,
    );
    expect(await attempt(session, "truncate jobs.jobs, jobs.ready")).toBe("allowed");
    await setup({ databaseUrl: owner.url, schema: "jobs", runtimeRole: role.name });
    for (const statement of [
      "truncate jobs.ready",
      "delete from jobs.jobs",
      "update jobs.jobs set payload = payload where false",
      "select nextval('jobs.jobs_id_seq')",
      "create table jobs.t (x int)",
    ]) {
      expect([statement, await attempt(session, statement)]).toEqual([statement, denied]);
    }
  });
});

test("a role that may only connect sees no table of the schema, and what it notifies is no job", async () => {
  const { createRole } = await world;
  const stranger = await createRole();
  await using asStranger = new SQL(stranger.url, { max: 1 });
  for (const { table } of runtimeGrants)
    expect(await attempt(asStranger, `select * from jobs.${table}`)).toBe(denied);
  expect(await attempt(asStranger, "notify lenso_jobs_anything, '1'")).toBe("allowed");
});
