import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { SQL } from "bun";
import { beginning, type Place } from "../../plugin/store/low-water.ts";
import { nameHash } from "../../plugin/store/name-hash.ts";
import { claimReadyJobs } from "../../plugin/store/queries/claim-ready-jobs.ts";
import { completeFreeLeases, completeLockedLease } from "../../plugin/store/queries/complete-leases.ts";
import { failFreeLeases, failLockedLease } from "../../plugin/store/queries/fail-leases.ts";
import { findJobsByKey } from "../../plugin/store/queries/find-jobs-by-key.ts";
import { insertJobs } from "../../plugin/store/queries/insert-jobs.ts";
import { inspectJobs } from "../../plugin/store/queries/inspect-jobs.ts";
import { listLeasedQueues } from "../../plugin/store/queries/list-leased-queues.ts";
import { locateSettlements } from "../../plugin/store/queries/locate-settlements.ts";
import { reapExpiredLeases } from "../../plugin/store/queries/reap-expired-leases.ts";
import { renewFreeLeases, renewLockedLease } from "../../plugin/store/queries/renew-leases.ts";
import { undoClaims } from "../../plugin/store/queries/undo-claims.ts";
import { databaseClock, sqlContext } from "../../plugin/store/sql-context.ts";
import { testServer } from "../support/test-server.ts";
import { givenBacklog } from "./support/backlog.ts";
import {
  buffersOf,
  engineConnection,
  explain,
  planProblems,
  rowsScanned,
  type Statement,
  statementOf,
} from "./support/explain.ts";
import { ok } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { startJobs } from "./support/jobs-host.ts";
import { observer, pluginConnections, until } from "./support/observe.ts";

await testServer();

const sql = sqlContext("jobs", databaseClock);
const proof = (row: number) => ({
  id: { row: String(row), nonce: randomBytes(10).toString("hex") },
  tokenHash: randomBytes(32).toString("hex"),
  owner: "worker",
});
const proofs = Array.from({ length: 20 }, (_, index) => proof(index + 1));
const failures = proofs.map((lease) => ({ lease, failure: { code: "smtp", retryable: true } }));
const backoff = { baseSeconds: 1, maxSeconds: 60 };
const newJobs = Array.from({ length: 20 }, (_, index) => ({
  producer: "producer",
  queue: "mail",
  kind: "send",
  key: `planned-${index}`,
  payload: "{}",
  intent: "ab".repeat(32),
  requestedAt: "2020-01-01T00:00:00Z",
  maxAttempts: 3,
}));
const claim = (wanted: number, from: Place = beginning, queue = "mail") =>
  statementOf((db) =>
    claimReadyJobs(sql)(db, {
      queue,
      owner: "worker",
      from,
      tokenHashes: Array.from({ length: wanted }, () => randomBytes(32).toString("hex")),
      leaseSeconds: 30,
    }),
  );

/** Every statement that runs for a call or in maintenance. */
const hot: Record<string, () => Promise<Statement>> = {
  claim: () => claim(5),
  "claim from the low-water mark": () => claim(5, { nextRun: "2021-01-01 00:00:00+00", row: "1" }),
  enqueue: () =>
    statementOf((db) =>
      insertJobs(sql, "channel", "00000000-0000-0000-0000-000000000000")(db, "hot", newJobs),
    ),
  "look-up of keys": () => statementOf((db) => findJobsByKey(sql)(db, newJobs)),
  complete: () => statementOf((db) => completeFreeLeases(sql)(db, proofs)),
  "complete after a wait": () => statementOf((db) => completeLockedLease(sql)(db, proof(1))),
  fail: () => statementOf((db) => failFreeLeases(sql)(db, failures, backoff)),
  "fail after a wait": () =>
    statementOf((db) =>
      failLockedLease(sql)(db, { lease: proof(1), failure: { code: "a", retryable: true } }, backoff),
    ),
  renew: () => statementOf((db) => renewFreeLeases(sql)(db, proofs, 30)),
  "renew after a wait": () => statementOf((db) => renewLockedLease(sql)(db, proof(1), 30)),
  "look-up of settlements": () => statementOf((db) => locateSettlements(sql)(db, proofs)),
  reap: () =>
    statementOf((db) =>
      reapExpiredLeases(sql)(db, "side", nameHash("mail"), "-infinity", { retired: 64, requeued: 500 }),
    ),
  undo: () =>
    statementOf((db) =>
      undoClaims(sql)(
        db,
        proofs.map(({ id, tokenHash }) => ({ row: id.row, tokenHash })),
      ),
    ),
  "list of leased queues": () => statementOf((db) => listLeasedQueues(sql)(db)),
  inspect: () =>
    statementOf((db) =>
      inspectJobs("jobs")(
        db,
        proofs.map(({ id }) => id),
      ),
    ),
};
const names = Object.keys(hot);

/** The tables as ANALYZE may have met them, and as they are when the statements run. */
const conditions: Record<string, (db: SQL) => Promise<void>> = {
  "empty tables that were never analysed": async () => {},
  "full tables that were never analysed": fill,
  "full tables that were empty when they were analysed": async (db) => {
    await db`analyze jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
    await fill(db);
  },
  "full tables that held only dead rows when they were analysed": async (db) => {
    await fill(db);
    for (const table of ["ready", "lease", "outcome"]) await db.unsafe(`delete from jobs.${table}`);
    await db`analyze jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
    await fill(db, "again");
  },
  "full tables with fresh statistics": async (db) => {
    await fill(db);
    await db`analyze jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
  },
  "empty tables that were full when they were analysed": async (db) => {
    await fill(db);
    await db`analyze jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
    await db`truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
  },
};

async function fill(db: SQL, prefix = "first"): Promise<void> {
  const nextRun = "timestamptz '2021-01-01' + n * interval '1 second'";
  const common = { queue: "mail", nextRun, prefix };
  await givenBacklog(db, { ...common, jobs: 50_000 });
  await givenBacklog(db, { ...common, jobs: 20_000, place: "lease" });
  await givenBacklog(db, { ...common, jobs: 20_000, place: "outcome" });
}

async function quietDatabase(): Promise<{ url: string; admin: SQL; engine: SQL }> {
  const { url } = await jobsDatabase();
  const admin = observer(url, 2);
  await Promise.all(
    ["jobs", "ready", "lease", "outcome"].map((table) =>
      admin.unsafe(`alter table jobs.${table} set (autovacuum_enabled = off)`),
    ),
  );
  return { url, admin, engine: engineConnection(url) };
}

describe.each(Object.keys(conditions))("on %s", (condition) => {
  let db: Awaited<ReturnType<typeof quietDatabase>>;
  beforeAll(async () => {
    db = await quietDatabase();
    await conditions[condition]?.(db.admin);
  });
  afterAll(() => Promise.all([db.admin.close(), db.engine.close()]));

  for (const name of names) {
    test(`${name} scans by index, row address or argument only, and sorts no backlog`, async () => {
      const plan = await explain(db.engine, await (hot[name] as () => Promise<Statement>)());
      expect(planProblems(plan)).toEqual([]);
    });
  }

  test("a claim of five touches five rows, and makes five attempts", async () => {
    const [before] = await db.admin`select count(*)::int as waiting from jobs.ready`;
    const plan = await explain(db.engine, await claim(5), "commit");
    const [after] =
      await db.admin`select count(*)::int as waiting, (select count(*)::int from jobs.lease where owner = ${nameHash("worker")}::bigint and attempt = 1 and expires_at > now() - interval '1 minute' and last_code is null and generation = 1 and updated_at > now() - interval '10 s') as fresh from jobs.ready`;
    const claimed = Math.min(5, before.waiting);
    expect(before.waiting - after.waiting).toBe(claimed);
    expect(rowsScanned(plan, "ready")).toBeLessThanOrEqual(4 * claimed);
    expect(rowsScanned(plan, "jobs")).toBeLessThanOrEqual(2 * claimed);
  });
});

test("jobs of one run time are claimed from where the last claim ended, past dead entries of the same run time", async () => {
  const { admin, engine } = await quietDatabase();
  await givenBacklog(admin, { queue: "mail", jobs: 20_000, nextRun: "timestamptz '2021-01-01'" });
  const old = await admin.reserve();
  await old`begin isolation level repeatable read`;
  await old`select count(*) from jobs.ready`;
  const [{ last }] = await admin`
    with gone as (delete from jobs.ready where id in (select id from jobs.ready order by id limit 19000) returning id)
    select max(id)::text as last from gone`;
  const from = { nextRun: "2021-01-01 00:00:00+00", row: last as string };
  expect(buffersOf(await explain(engine, await claim(5, from)))).toBeLessThan(200);
  await old`rollback`;
  await old.release();
  await Promise.all([admin.close(), engine.close()]);
});

test("a reaper whose plan was made on empty tables touches no more expired leases than it takes back", async () => {
  const { admin, engine } = await quietDatabase();
  const statement = await (hot.reap as () => Promise<Statement>)();
  const plan = await explain(engine, statement, "rollback", () =>
    givenBacklog(admin, {
      queue: "mail",
      jobs: 20_000,
      nextRun: "timestamptz '2021-01-01' + n * interval '1 second'",
      place: "lease",
    }),
  );
  await Promise.all([admin.close(), engine.close()]);
  expect(rowsScanned(plan, "lease")).toBeLessThan(3000);
});

test("a claim touches about the same pages with no backlog, with 100 000 jobs behind it and with 100 000 in the future", async () => {
  const buffers: Record<string, number> = {};
  for (const [name, backlog] of [
    ["none", undefined],
    ["behind", "timestamptz '2022-01-01' + n * interval '1 second'"],
    ["future", "now() + interval '1 day' + n * interval '1 second'"],
  ] as const) {
    const { admin, engine } = await quietDatabase();
    await givenBacklog(admin, {
      queue: "mail",
      jobs: 5,
      prefix: "head",
      nextRun: "timestamptz '2021-01-01' + n * interval '1 second'",
    });
    if (backlog !== undefined)
      await givenBacklog(admin, { queue: "mail", jobs: 100_000, nextRun: backlog, place: "ready" });
    buffers[name] = buffersOf(await explain(engine, await claim(5)));
    await Promise.all([admin.close(), engine.close()]);
  }
  expect(buffers.behind).toBeLessThanOrEqual(2 * (buffers.none ?? 0));
  expect(buffers.future).toBeLessThanOrEqual(2 * (buffers.none ?? 0));
});

test("while an old transaction keeps dead entries alive, claims go on from the low-water mark and do not walk them", async () => {
  const { url, admin, engine } = await quietDatabase();
  const dead = 3000;
  await givenBacklog(admin, {
    queue: "mail",
    jobs: dead + 300,
    nextRun: "timestamptz '2021-01-01' + n * interval '1 second'",
  });
  const old = await admin.reserve();
  await old`begin isolation level repeatable read`;
  await old`select count(*) from jobs.ready`;
  await engine.unsafe(
    `delete from jobs.ready where next_run <= timestamptz '2021-01-01' + ${dead} * interval '1 second'`,
  );

  const mark = { nextRun: "2021-01-01 00:50:00+00", row: "0" };
  const walked = buffersOf(await explain(engine, await claim(1)));
  const hinted = buffersOf(await explain(engine, await claim(1, mark)));
  expect(hinted).toBeLessThan(walked / 5);

  const jobs = await startJobs({ url });
  const entriesRead = async () =>
    (
      await admin`select idx_tup_read::int as read from pg_stat_user_indexes where indexrelname = 'ready_pkey'`
    )[0].read;
  const startedAt = performance.now();
  const before = await entriesRead();
  for (let count = 0; count < 200; count += 1) ok(await jobs.worker.claim({ queue: "mail" }));
  const fullScans = 2 + Math.ceil((performance.now() - startedAt) / 1000);
  await jobs.stop();
  // They report what they read when they end, which is a moment after they were told to.
  await until("the plugin's connections to end", async () => (await pluginConnections(admin)) === 0);
  await old`rollback`;
  await old.release();
  expect((await entriesRead()) - before).toBeLessThan(fullScans * (dead + 300) + 200 * 30);
  await Promise.all([admin.close(), engine.close()]);
});
