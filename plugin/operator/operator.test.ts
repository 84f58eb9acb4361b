import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { SQL } from "bun";
import { openDriver } from "../store/drivers/open-driver.ts";
import { readMigrations } from "../store/schema/migrations.ts";
import { readSchemaState } from "../store/schema/schema-state.ts";
import { checkWith } from "./check.ts";
import { fenceWith } from "./fence.ts";
import { check, fence, plan, setup, upgrade } from "./index.ts";
import { planWith } from "./plan.ts";
import { setupWith } from "./setup.ts";
import { operatorDatabase } from "./testing/operator-database.ts";
import { migrationsUpTo, withNextMigration } from "./testing/synthetic-migrations.ts";
import { upgradeWith } from "./upgrade.ts";

const drivers = ["bun", "pg"] as const;
const schema = "jobs";

describe.each(drivers)("with the driver %s", (driver) => {
  async function given() {
    const database = await operatorDatabase();
    return { ...database, options: { databaseUrl: database.url, schema, driver } };
  }

  test("setup creates an absent schema, and then says that it is already current", async () => {
    const { options, dump } = await given();

    const first = await setup(options);
    const made = await dump(schema);
    const second = await setup(options);

    expect(first).toMatchObject({ ok: true, code: "created", version: 1, runtimeRole: null });
    expect(second).toMatchObject({ ok: true, code: "already_current", version: 1 });
    expect(await dump(schema)).toEqual(made);
  });

  test("sixteen setups at once make one schema, and so do sixteen upgrades of it", async () => {
    const { options, query } = await given();
    const newer = await migrationsUpTo(3);
    for (let round = 1; round <= 5; round++) {
      const here = { ...options, schema: `round_${round}` };
      const setups = await Promise.all(Array.from({ length: 16 }, () => setup(here)));
      const upgrades = await Promise.all(Array.from({ length: 16 }, () => upgradeWith(newer, here)));

      expect(codesOf(setups)).toEqual({ created: 1, already_current: 15 });
      expect(codesOf(upgrades)).toEqual({ upgraded: 1, already_current: 15 });
      const ledger = await query(`select version from round_${round}.lenso_jobs_ledger order by version`);
      expect(ledger.map((row) => row.version)).toEqual([1, 2, 3]);
    }
  }, 60_000);

  test("a migration that fails half way leaves no schema behind, and no lock", async () => {
    const { options, query } = await given();
    const broken = await withNextMigration("create table half (id int);\ninsert into nowhere values (1);");

    const report = await setupWith(broken, options);

    expect(report).toMatchObject({ ok: false, code: "database_refused" });
    expect(report.message).toContain("migration 2 (trial)");
    expect(report.message).toContain('relation "nowhere" does not exist');
    expect(await query(`select from pg_namespace where nspname = '${schema}'`)).toHaveLength(0);
    expect(await setup(options)).toMatchObject({ ok: true, code: "created" });
  });

  test("an upgrade that fails half way leaves the schema as it was", async () => {
    const { options, dump } = await given();
    await setup(options);
    const before = await dump(schema);
    const broken = await withNextMigration("alter table jobs add column half int;\nselect 1 / 0;");

    const report = await upgradeWith(broken, options);

    expect(report).toMatchObject({ ok: false, code: "database_refused" });
    expect(await dump(schema)).toEqual(before);
    expect(await check(options)).toMatchObject({ ok: true, version: 1 });
  });

  test("a fresh install and an upgrade from the first release end in the same catalogue", async () => {
    const { options, dump } = await given();
    const newest = await migrationsUpTo(4);
    await setup({ ...options, schema: "upgraded" });
    await setupWith(newest, { ...options, schema: "fresh" });

    const report = await upgradeWith(newest, { ...options, schema: "upgraded" });

    expect(report).toMatchObject({ ok: true, code: "upgraded", from: 1, to: 4 });
    const upgraded = (await dump("upgraded")).map((line) => line.replaceAll("upgraded", "fresh"));
    expect(upgraded).toEqual(await dump("fresh"));
  });

  test("each command in each state succeeds or names what to do", async () => {
    const { options, query } = await given();
    const [one, two, three] = [await migrationsUpTo(1), await migrationsUpTo(2), await migrationsUpTo(3)];
    const strict = await migrationsUpTo(3, { 3: 2 });
    const at = (name: string) => ({ ...options, schema: name });
    await query("create schema stranger");
    await query("create schema pretender");
    await query("create table pretender.lenso_jobs_marker (mark text)");
    await query(
      "create table pretender.lenso_jobs_ledger (version int, name text, checksum text, oldest_build int)",
    );
    for (const name of ["current", "behind", "edited", "renamed", "emptied", "dropped"])
      await setupWith(one, at(name));
    await setupWith(two, at("holed"));
    await setupWith(three, at("ahead"));
    await setupWith(strict, at("too_far"));
    await query(`update edited.lenso_jobs_ledger set checksum = repeat('0', 64)`);
    await query(`update renamed.lenso_jobs_ledger set name = 'other'`);
    await query("delete from emptied.lenso_jobs_ledger");
    await query("delete from holed.lenso_jobs_ledger where version = 1");
    await query("drop table dropped.ready");

    // Everything but "behind" is looked at by build 1, and "behind" by build 2.
    const expected: Record<string, Record<string, string>> = {
      missing: {
        upgrade: "setup_required",
        check: "setup_required",
        plan: "setup_planned",
        fence: "setup_required",
        setup: "created",
      },
      stranger: everywhere("unmanaged"),
      pretender: everywhere("unmanaged"),
      current: {
        upgrade: "already_current",
        check: "startable",
        plan: "nothing_to_do",
        fence: "fenced",
        setup: "already_current",
      },
      behind: {
        check: "upgrade_required",
        plan: "upgrade_planned",
        fence: "upgrade_required",
        setup: "upgrade_required",
        upgrade: "upgraded",
      },
      ahead: {
        upgrade: "already_ahead",
        check: "startable",
        plan: "nothing_to_do",
        fence: "fenced",
        setup: "already_ahead",
      },
      too_far: everywhere("ahead"),
      edited: everywhere("diverged"),
      renamed: everywhere("diverged"),
      emptied: everywhere("diverged"),
      holed: everywhere("diverged"),
      dropped: everywhere("diverged"),
    };
    for (const [name, codes] of Object.entries(expected)) {
      const build = name === "behind" ? two : one;
      for (const [command, code] of Object.entries(codes)) {
        const report = await commands[command as keyof typeof commands](build, at(name));
        expect({ name, command, code: report.code }).toEqual({ name, command, code });
        if (!report.ok) expect(report.message).toContain(report.next ?? "");
      }
    }
    expect((await checkWith(one, at("too_far"))).message).toContain(
      "version 3, which takes build 2 or newer, and this is build 1",
    );
    expect((await checkWith(one, at("edited"))).message).toContain("version 1 was applied with another text");
    expect((await checkWith(one, at("holed"))).message).toContain("version 1 is missing");
    expect(await query("select from pg_class where relnamespace = 'stranger'::regnamespace")).toHaveLength(0);
  }, 60_000);

  test("a plan is the SQL that brings about what setup and upgrade bring about", async () => {
    const { options, dump, query } = await given();
    const two = await migrationsUpTo(2);
    const planned = await plan({ ...options, schema: "planned" });
    expect(await query("select from pg_namespace where nspname = 'planned'")).toHaveLength(0);
    await query(sqlOf(planned));
    await setup({ ...options, schema: "made" });
    const same = async () => (await dump("planned")).map((line) => line.replaceAll("planned", "made"));
    expect(await same()).toEqual(await dump("made"));

    await query(sqlOf(await planWith(two, { ...options, schema: "planned" })));
    await upgradeWith(two, { ...options, schema: "made" });

    expect(await same()).toEqual(await dump("made"));
    expect(await checkWith(two, { ...options, schema: "planned" })).toMatchObject({ ok: true, version: 2 });
  });

  test("names that are reserved or long work; others are refused before the database", async () => {
    const { options, query } = await given();
    const before = await query("select nspname from pg_namespace order by 1");
    const hostile = [
      "Jobs",
      'a"b',
      "a'b",
      "public",
      "pg_jobs",
      "information_schema",
      "",
      "1a",
      "é".repeat(35),
      "a".repeat(64),
      "x'); drop schema canary; --",
      "%I",
      "$cmd$",
      "a\0b",
      "a b",
    ];
    for (const name of hostile) {
      for (const command of [setup, upgrade, check, plan, fence]) {
        const report = await command({
          ...options,
          databaseUrl: "postgres://a:b@127.0.0.1:1/c",
          schema: name,
        });
        expect(report).toMatchObject({ ok: false, code: "invalid_input" });
        expect(report.message).toStartWith("schema: expected");
      }
    }
    expect(await query("select nspname from pg_namespace order by 1")).toEqual(before);

    for (const name of ["select", "user", "a".repeat(63), "a".repeat(62), "order_by_1"]) {
      expect(await setup({ ...options, schema: name })).toMatchObject({ ok: true, code: "created" });
      expect(await check({ ...options, schema: name })).toMatchObject({ ok: true });
      expect(await fence({ ...options, schema: name })).toMatchObject({ ok: true, fenced: 0 });
    }
  }, 60_000);

  test("a runtime role may do what the plugin does and nothing else", async () => {
    const { options, query, createRole } = await given();
    const { name, quoted, url } = await createRole();
    await setup(options);
    const asRole = { ...options, databaseUrl: url };
    expect(await check(asRole)).toMatchObject({ ok: false, code: "not_owned" });
    await query(`grant all on all tables in schema ${schema} to ${quoted}`);
    await query(`grant update (payload) on ${schema}.jobs to ${quoted}`);
    await query(`grant create on schema ${schema} to ${quoted}`);

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

  test("fence voids every lease: generation, token and expiry", async () => {
    const { options, query } = await given();
    await setup(options);
    await query(insertLeases(3));
    const before = await query(
      "select id, generation, encode(token, 'hex') as token, updated_at::text from jobs.lease order by id",
    );

    expect(await fence(options)).toMatchObject({
      ok: true,
      fenced: 3,
      message: 'schema "jobs": 3 leases voided',
    });

    const after = await query(
      "select id, generation, encode(token, 'hex') as token, updated_at::text, expires_at <= clock_timestamp() as expired from jobs.lease order by id",
    );
    expect(after.map((row) => Number(row.generation))).toEqual(
      before.map((row) => Number(row.generation) + 1),
    );
    expect(new Set([...before, ...after].map((row) => row.token)).size).toBe(6);
    expect(after.every((row) => row.expired)).toBe(true);
    expect(after.map((row) => row.updated_at)).toEqual(before.map((row) => row.updated_at));
  });

  test("an upgrade waits for live traffic in short turns, so that nobody queues behind it, and succeeds afterwards", async () => {
    const { options, url } = await given();
    await setup(options);
    await using blocker = new SQL(url, { max: 1, prepare: false });
    await using traffic = new SQL(url, { max: 1, prepare: false });
    const two = await migrationsUpTo(2);
    let upgraded: ReturnType<typeof upgradeWith> | undefined;
    let slowest = 0;
    await blocker.begin(async (held) => {
      await held.unsafe("select count(*) from jobs.jobs");
      upgraded = upgradeWith(two, options);
      for (const end = Date.now() + 1500; Date.now() < end; ) {
        const start = performance.now();
        await traffic.unsafe("select count(*) from jobs.jobs");
        slowest = Math.max(slowest, performance.now() - start);
      }
    });

    expect(await upgraded).toMatchObject({ ok: true, code: "upgraded" });
    expect(slowest).toBeGreaterThan(100); // the upgrade did ask for its lock meanwhile
    expect(slowest).toBeLessThan(1000);
  });

  test("commands look and work under unfriendly defaults of the role", async () => {
    const { options, query, createRole } = await given();
    const owner = await createRole();
    const database = decodeURIComponent(new URL(options.databaseUrl).pathname.slice(1));
    await query(`grant create on database "${database}" to ${owner.quoted}`);
    for (const setting of [
      "default_transaction_isolation = serializable",
      "default_transaction_read_only = on",
      "search_path = ''",
      "statement_timeout = 500",
      "standard_conforming_strings = off",
      "client_min_messages = debug1",
    ]) {
      await query(`alter role ${owner.quoted} set ${setting}`);
    }
    const asOwner = { ...options, databaseUrl: owner.url };

    expect(codesOf(await Promise.all(Array.from({ length: 4 }, () => setup(asOwner))))).toEqual({
      created: 1,
      already_current: 3,
    });
    expect(await upgradeWith(await migrationsUpTo(2), asOwner)).toMatchObject({ ok: true, code: "upgraded" });
    const report = await checkWith(await migrationsUpTo(2), asOwner);
    expect(report).toMatchObject({ ok: false, code: "unsupported_database" });
    expect(report.message).toContain("default_transaction_read_only");
  });

  test("only transaction-scoped locks are taken, keyed by the schema", async () => {
    const { options, url } = await given();
    await using holder = new SQL(url, { max: 1, prepare: false });
    const key = createHash("sha256").update(`lenso-jobs\0${schema}`).digest().readBigInt64BE(0);
    await holder.begin(async (held) => {
      await held.unsafe(`select pg_advisory_xact_lock(${key})`);
      const other = await setup({ ...options, schema: "other" });
      expect(other).toMatchObject({ ok: true });
      const waiting = setup(options);
      expect(await Promise.race([waiting, Bun.sleep(300).then(() => "waiting" as const)])).toBe("waiting");
      void waiting.then((report) => expect(report.ok).toBe(true));
    });
    expect(await setup(options)).toMatchObject({ ok: true });
    expect(
      await holder`select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    ).toHaveLength(0);
  });

  test("a database in another encoding is refused", async () => {
    const { options, query } = await given();
    const name = `latin_${Math.random().toString(36).slice(2)}`;
    await query(`create database "${name}" encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`);
    try {
      const url = new URL(options.databaseUrl);
      url.pathname = `/${name}`;
      expect(await setup({ ...options, databaseUrl: url.href })).toMatchObject({
        ok: false,
        code: "unsupported_database",
      });
    } finally {
      await query(`drop database "${name}" with (force)`);
    }
  });

  test("no report shows a secret: wrong password, wrong database, nobody listening, nobody answering, malformed", async () => {
    const canary = ["CANARY", "s3cret"].join("-");
    const { options } = await given();
    const good = new URL(options.databaseUrl);
    const wrong = (change: (url: URL) => void) => {
      const url = new URL(good);
      url.password = canary;
      change(url);
      return url.href;
    };
    const urls: [string, string][] = [
      [wrong((url) => void (url.username = canary)), "permission_denied"],
      [wrong((url) => void (url.port = "1")), "database_unavailable"],
      [wrong((url) => void (url.hostname = "nowhere.invalid")), "database_unavailable"],
      [good.href.replace(good.pathname, `/${canary}`), "database_unavailable"],
      ...[
        canary,
        `postgres://u:${canary}`,
        `postgres://u:${canary}@/d`,
        `mysql://u:${canary}@h/d`,
        `postgres://u:${canary}%zz@h/d`,
        `postgres://u:${canary}#@h:5432/d`,
        `postgres://u:${canary}@h:99999/d`,
        `host=h password=${canary}`,
        `postgres://u:${canary}@h1,h2/d`,
        ` ${canary}`,
        "",
      ].map((url): [string, string] => [url, "invalid_input"]),
    ];
    for (const [databaseUrl, code] of urls) {
      for (const command of [setup, check]) {
        const report = await command({ ...options, databaseUrl });
        expect({ code: report.code, printed: Bun.inspect(report).includes(canary) }).toEqual({
          code,
          printed: false,
        });
      }
    }
  }, 60_000);

  test("a server that never answers is given up", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const report = await check({ databaseUrl: `postgres://u:p@127.0.0.1:${port}/d`, schema, driver });
    silent.close();
    expect(report).toMatchObject({ ok: false, code: "database_unavailable" });
  }, 20_000);

  test("the state can be read through a pool as well as in a transaction", async () => {
    const { options, url } = await given();
    await setup(options);
    const pool = await openDriver(driver, {
      url,
      maxConnections: 1,
      settings: {},
      prepare: true,
      connectTimeoutMs: 5000,
    });
    try {
      expect(await readSchemaState(pool, schema)).toMatchObject({ kind: "current", version: 1, owned: true });
      expect(await readSchemaState(pool, "missing")).toEqual({ kind: "absent" });
      expect(await readSchemaState(pool, schema, await readMigrations())).toMatchObject({ kind: "current" });
    } finally {
      await pool.close(1000);
    }
  });
});

const commands = {
  setup: setupWith,
  upgrade: upgradeWith,
  check: checkWith,
  plan: planWith,
  fence: fenceWith,
};

function everywhere(code: string): Record<string, string> {
  return { setup: code, upgrade: code, check: code, plan: code, fence: code };
}

function codesOf(reports: readonly { code: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { code } of reports) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

function sqlOf(report: { ok: boolean; message: string; sql?: string }): string {
  if (report.sql === undefined || report.sql === "") throw new Error(`no plan: ${report.message}`);
  return report.sql;
}

function insertLeases(count: number): string {
  return `insert into jobs.lease (id, generation, queue, owner, expires_at, next_run, updated_at, attempt, max_attempts, token, nonce)
    select i, i, 1, 1, now() + interval '1 hour', now(), now(), 1, 3, sha256(i::text::bytea), '\\x00'
      from generate_series(1, ${count}) i`;
}

const allowed = [
  "insert into jobs.instance (instance_key, recorded_at) values ('orders', now()) on conflict do nothing",
  "insert into jobs.name values (1, 'q') on conflict (hash) do nothing",
  `insert into jobs.jobs (producer, queue, requested_at, created_at, max_attempts, nonce, intent, kind, idempotency_key, payload)
    values (1, 1, now(), now(), 3, '\\x00000000000000000000', sha256(''), 'k', 'key', '{}') on conflict (producer, idempotency_key) do nothing returning id`,
  "insert into jobs.ready (queue, next_run, id, updated_at, max_attempts) values (1, now(), 1, now(), 3)",
  `with d as (delete from jobs.ready where ctid = any(array(select ctid from jobs.ready where queue = 1 order by next_run, id limit 1 for update skip locked)) returning *)
    insert into jobs.lease (id, generation, queue, owner, expires_at, next_run, updated_at, attempt, max_attempts, token, nonce)
    select id, generation + 1, queue, 1, now(), next_run, now(), attempt + 1, max_attempts, sha256(''), '\\x00' from d returning id`,
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
  "lock table jobs.jobs in access exclusive mode",
];
