import { describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { checkWith } from "./check.ts";
import { check, fence, setup } from "./index.ts";
import { type OperatorDatabase, operatorDatabase } from "./testing/operator-database.ts";
import { migrationsUpTo } from "./testing/synthetic-migrations.ts";
import { upgradeWith } from "./upgrade.ts";

describe.each(["bun", "pg"] as const)("with the driver %s", (driver) => {
  let shared: Promise<OperatorDatabase> | undefined;

  /** Tests of a file share a database, since making one takes longer than most of them. */
  async function given() {
    shared ??= operatorDatabase();
    const database = await shared;
    await database.empty();
    return { ...database, options: { databaseUrl: database.url, schema: "jobs", driver } };
  }

  test("a runtime role may do what the plugin does and nothing else", async () => {
    const { options, query, createRole } = await given();
    const { name, quoted, url } = await createRole();
    await setup(options);
    const asRole = { ...options, databaseUrl: url };
    expect(await check(asRole)).toMatchObject({ ok: false, code: "not_owned" });
    await query(`grant all on all tables in schema jobs to ${quoted}`);
    await query(`grant update (payload) on jobs.jobs to ${quoted}`);
    await query(`grant create on schema jobs to ${quoted}`);

    const report = await setup({ ...options, runtimeRole: name });

    expect(report).toMatchObject({ ok: true, code: "already_current", runtimeRole: name });
    expect(await check(asRole)).toMatchObject({ ok: true, role: name, instance: null });
    for (const statement of allowed) await query(statement, url);
    expect(await check(asRole)).toMatchObject({ ok: true, instance: "orders" });
    for (const statement of forbidden) {
      const refused: unknown = await query(statement, url).catch((error: unknown) => error);
      expect({ statement, refused: refused instanceof SQL.PostgresError && refused.errno }).toEqual({
        statement,
        refused: "42501",
      });
    }
    expect(await setup({ ...asRole, runtimeRole: name })).toMatchObject({ ok: false, code: "not_owned" });
    expect(await upgradeWith(await migrationsUpTo(2), asRole)).toMatchObject({
      ok: false,
      code: "not_owned",
    });
    expect(await fence(asRole)).toMatchObject({ ok: true });
  });

  test("each single missing grant is found and named", async () => {
    const { options, query, createRole } = await given();
    const { name, quoted, url } = await createRole();
    await setup({ ...options, runtimeRole: name });
    const checked = () => check({ ...options, databaseUrl: url });
    for (const [revoked, shown] of [
      ["insert on jobs.outcome", "insert on outcome"],
      ["delete on jobs.ready", "delete on ready"],
      ["update (updated_at) on jobs.ready", "update (updated_at) on ready"],
      ["select on jobs.lenso_jobs_ledger", "select on lenso_jobs_ledger"],
      ["usage on schema jobs", "usage on the schema"],
    ] as const) {
      await query(`revoke ${revoked} from ${quoted}`);
      const report = await checked();
      expect(report).toMatchObject({
        ok: false,
        code: "not_owned",
        next: `lenso-jobs setup jobs --runtime-role '${name}'`,
      });
      expect(report.message).toContain(shown);
      await setup({ ...options, runtimeRole: name });
      expect(await checked()).toMatchObject({ ok: true });
    }
  });

  test("an upgrade gives the runtime roles what they had before, and its tables to the schema's owner", async () => {
    const { options, query, createRole } = await given();
    const [owner, runtime, onlooker] = [await createRole(), await createRole(), await createRole()];
    const database = decodeURIComponent(new URL(options.databaseUrl).pathname.slice(1));
    await query(`grant create on database "${database}" to ${owner.quoted}`);
    await setup({ ...options, databaseUrl: owner.url, runtimeRole: runtime.name });
    await query(`grant usage on schema jobs to ${onlooker.quoted}`);
    await query(`grant select on all tables in schema jobs to ${onlooker.quoted}`);
    const two = await migrationsUpTo(2);

    expect(await upgradeWith(two, options)).toMatchObject({ ok: true, code: "upgraded" });

    expect(
      await query(
        "select distinct pg_get_userbyid(relowner)::text as owner from pg_class where relnamespace = 'jobs'::regnamespace",
      ),
    ).toEqual([{ owner: owner.name }]);
    expect(await checkWith(two, { ...options, databaseUrl: runtime.url })).toMatchObject({
      ok: true,
      owner: owner.name,
    });
    expect(await checkWith(two, { ...options, databaseUrl: owner.url })).toMatchObject({ ok: true });
    expect(await checkWith(two, { ...options, databaseUrl: onlooker.url })).toMatchObject({
      ok: false,
      code: "not_owned",
    });
  });

  test("a runtime role that is missing, mighty or misnamed is refused, and nothing is created", async () => {
    const { options, query, createRole } = await given();
    const owner = await createRole();
    const database = decodeURIComponent(new URL(options.databaseUrl).pathname.slice(1));
    await query(`grant create on database "${database}" to ${owner.quoted}`);
    const asOwner = { ...options, databaseUrl: owner.url };

    expect(await setup({ ...asOwner, runtimeRole: "nobody_here" })).toMatchObject({
      ok: false,
      code: "unknown_role",
    });
    for (const runtimeRole of [
      owner.name,
      "postgres",
      "public",
      "none",
      "pg_monitor",
      "",
      "a\0b",
      "a\nb",
      "é".repeat(32),
    ]) {
      expect(await setup({ ...asOwner, runtimeRole })).toMatchObject({ ok: false, code: "invalid_input" });
    }
    expect(await setup({ ...asOwner, runtimeRole: `x"; drop schema jobs; --` })).toMatchObject({
      ok: false,
      code: "unknown_role",
    });
    expect(await query("select from pg_namespace where nspname = 'jobs'")).toHaveLength(0);
  });

  test("a role without CREATE on the database is told so", async () => {
    const { options, createRole } = await given();
    const report = await setup({ ...options, databaseUrl: (await createRole()).url });
    expect(report).toMatchObject({ ok: false, code: "permission_denied" });
    expect(report.message).toContain("creating the schema");
  });
});

const allowed = [
  "insert into jobs.instance (instance_key, recorded_at) values ('orders', now()) on conflict do nothing",
  "insert into jobs.name values (1, 'q') on conflict (hash) do nothing",
  `insert into jobs.jobs (producer, queue, requested_at, created_at, max_attempts, nonce, intent, kind, idempotency_key, payload)
    values (1, 1, now(), now(), 3, '\\x00000000000000000000', sha256(''), 'k', 'key', '{}') on conflict (producer, idempotency_key) do nothing returning id`,
  "insert into jobs.ready (queue, next_run, id, updated_at, bytes, max_attempts) values (1, now(), 1, now(), 2, 3)",
  `with d as (delete from jobs.ready where ctid = any(array(select ctid from jobs.ready where queue = 1 order by next_run, id limit 1 for update skip locked)) returning *)
    insert into jobs.lease (id, generation, queue, owner, expires_at, next_run, updated_at, attempt, max_attempts, token, nonce, bytes)
    select id, generation + 1, queue, 1, now(), next_run, now(), attempt + 1, max_attempts, sha256(''), '\\x00', bytes from d returning id`,
  "update jobs.lease set expires_at = now() where id = 1",
  "with d as (delete from jobs.lease where id = 1 returning *) insert into jobs.outcome (id, next_run, finished_at, owner, attempt, state, operation, token) select id, next_run, now(), owner, attempt, 's', 'c', token from d",
  "select * from jobs.jobs, jobs.ready, jobs.lease, jobs.outcome, jobs.name, jobs.instance, jobs.lenso_jobs_ledger, jobs.lenso_jobs_marker",
];

const forbidden = [
  "drop table jobs.ready",
  "drop schema jobs cascade",
  "create table jobs.extra (id int)",
  "alter table jobs.jobs add column extra int",
  "truncate jobs.ready",
  "truncate jobs.lease",
  "update jobs.jobs set kind = 'other'",
  "update jobs.jobs set payload = '{}'",
  "delete from jobs.jobs",
  "update jobs.ready set next_run = now()",
  "update jobs.outcome set state = 'f'",
  "delete from jobs.outcome",
  "update jobs.instance set instance_key = 'mine'",
  "delete from jobs.instance",
  "update jobs.name set name = 'other'",
  "delete from jobs.name",
  "insert into jobs.lenso_jobs_ledger values (2, 'x', repeat('0', 64), 1)",
  "update jobs.lenso_jobs_ledger set oldest_build = 1",
  "delete from jobs.lenso_jobs_marker",
  "select nextval('jobs.jobs_id_seq')",
  "select setval('jobs.jobs_id_seq', 1)",
  "create trigger t before insert on jobs.jobs for each row execute function suppress_redundant_updates_trigger()",
  "begin; lock table jobs.jobs in access exclusive mode",
];
