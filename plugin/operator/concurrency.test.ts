import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { SQL } from "bun";
import { check, setup } from "./index.ts";
import { setupWith } from "./setup.ts";
import { type OperatorDatabase, operatorDatabase } from "./testing/operator-database.ts";
import { migrationsUpTo, withNextMigration } from "./testing/synthetic-migrations.ts";
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

  test("sixteen setups at once make one schema, and so do sixteen upgrades of it", async () => {
    const { options, query } = await given();
    const newer = await migrationsUpTo(3);
    for (let round = 1; round <= 2; round++) {
      const here = { ...options, schema: `round_${round}` };
      const setups = await Promise.all(Array.from({ length: 16 }, () => setup(here)));
      const upgrades = await Promise.all(Array.from({ length: 16 }, () => upgradeWith(newer, here)));

      expect(codesOf(setups)).toEqual({ created: 1, already_current: 15 });
      expect(codesOf(upgrades)).toEqual({ upgraded: 1, already_current: 15 });
      const ledger = await query(`select version from round_${round}.lenso_jobs_ledger order by version`);
      expect(ledger.map((row) => row.version)).toEqual([1, 2, 3]);
    }
  }, 180_000);

  test("a migration that fails half way leaves no schema behind, and no lock", async () => {
    const { options, query } = await given();
    const broken = await withNextMigration("create table half (id int);\ninsert into nowhere values (1);");

    const report = await setupWith(broken, options);

    expect(report).toMatchObject({ ok: false, code: "database_refused" });
    expect(report.message).toContain("migration 2 (trial)");
    expect(report.message).toContain('relation "nowhere" does not exist');
    expect(await query(`select from pg_namespace where nspname = 'jobs'`)).toHaveLength(0);
    expect(await setup(options)).toMatchObject({ ok: true, code: "created" });
  });

  test("an upgrade that fails half way leaves the schema as it was", async () => {
    const { options, dump } = await given();
    await setup(options);
    const before = await dump("jobs");
    const broken = await withNextMigration("alter table jobs add column half int;\nselect 1 / 0;");

    const report = await upgradeWith(broken, options);

    expect(report).toMatchObject({ ok: false, code: "database_refused" });
    expect(await dump("jobs")).toEqual(before);
    expect(await check(options)).toMatchObject({ ok: true, version: 1 });
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

  test("only transaction-scoped locks are taken, keyed by the schema", async () => {
    const { options, url } = await given();
    await using holder = new SQL(url, { max: 1, prepare: false });
    const key = createHash("sha256").update(`lenso-jobs\0jobs`).digest().readBigInt64BE(0);
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
});

function codesOf(reports: readonly { code: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { code } of reports) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}
