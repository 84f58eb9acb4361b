import { describe, expect, test } from "bun:test";
import { checkWith } from "./check.ts";
import { fenceWith } from "./fence.ts";
import { check, fence, plan, setup, upgrade } from "./index.ts";
import { planWith } from "./plan.ts";
import { setupWith } from "./setup.ts";
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

  test("setup creates an absent schema, and then says that it is already current", async () => {
    const { options, dump } = await given();

    const first = await setup(options);
    const made = await dump("jobs");
    const second = await setup(options);

    expect(first).toMatchObject({ ok: true, code: "created", version: 1, runtimeRole: null });
    expect(second).toMatchObject({ ok: true, code: "already_current", version: 1 });
    expect(await dump("jobs")).toEqual(made);
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
        expect(`${name} ${command} ${report.code}`).toBe(`${name} ${command} ${code}`);
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
  return `insert into jobs.lease (id, generation, queue, owner, expires_at, next_run, updated_at, attempt, max_attempts, token, nonce, bytes)
    select i, i, 1, 1, now() + interval '1 hour', now(), now(), 1, 3, sha256(i::text::bytea), '\\x00', 2
      from generate_series(1, ${count}) i`;
}
