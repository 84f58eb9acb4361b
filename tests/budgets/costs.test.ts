import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import * as v from "valibot";
import { startPostgres } from "../../host-fixtures/index.ts";
import { setup } from "../../plugin/operator/index.ts";
import { databaseClock } from "../../plugin/store/sql-context.ts";
import { createJobsWorker, defineJobKind, handleKind } from "../../tasks/index.ts";
import { leaseOf, newJob, ok } from "../postgres/support/jobs.ts";
import { startJobs } from "../postgres/support/jobs-host.ts";

// What a job costs the server, on a server that nobody else writes to. Counted, not timed: noise cannot touch it.

const server = await startPostgres();
await setup({ databaseUrl: server.url, schema: "jobs" });
const jobs = await startJobs({ url: server.url, clock: databaseClock });
const sql = new SQL(server.url, { max: 1 });
afterAll(async () => {
  await jobs.stop();
  await sql.close();
  await server.stop();
});

/** A payload of a hundred bytes. */
const payload = { text: "x".repeat(100 - '{"text":""}'.length) };

async function live(count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async () => ok(await jobs.producer.enqueue(newJob({ payload })))),
  );
  await Promise.all(
    Array.from({ length: count }, async () => {
      const claimed = ok(await jobs.worker.claim({ queue: "mail" }));
      ok(await jobs.worker.complete(leaseOf(claimed)));
    }),
  );
}

/** Bytes of WAL and transactions that wrote. */
async function costOf(work: () => Promise<void>): Promise<{ readonly wal: number; readonly writes: number }> {
  const read = async () => {
    const [row] = await sql`select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text as wal,
      pg_snapshot_xmax(pg_current_snapshot())::text as xid`;
    return { wal: Number(row.wal), writes: Number(row.xid) };
  };
  const before = await read();
  await work();
  const after = await read();
  return { wal: after.wal - before.wal, writes: after.writes - before.writes };
}

test("a whole life writes at most 1536 bytes of WAL a job, history and index entries included", async () => {
  await live(100); // names, plans and the first pages
  await sql`checkpoint`;
  await live(500); // the whole pages that follow a checkpoint
  const jobsLived = 2000;
  const { wal } = await costOf(async () => {
    for (let lived = 0; lived < jobsLived; lived += 500) await live(500);
  });
  expect(wal / jobsLived).toBeLessThanOrEqual(1536);
});

test("one at a time a life is three commits, and no more", async () => {
  await live(1);
  const { writes } = await costOf(async () => {
    for (let lived = 0; lived < 50; lived += 1) await live(1);
  });
  // A look at expired leases, due once a second, may write nothing but takes a number when it locks.
  expect(writes).toBeGreaterThanOrEqual(150);
  expect(writes).toBeLessThanOrEqual(155);
});

test("a worker of one job at a time commits once for each: the end of a job goes with the claim of the next", async () => {
  const worked = 50;
  await Promise.all(
    Array.from({ length: worked }, async () => ok(await jobs.producer.enqueue(newJob({ payload })))),
  );
  const { writes } = await costOf(async () => {
    let left = worked;
    const done = Promise.withResolvers<void>();
    const worker = createJobsWorker({
      jobs: jobs.worker,
      queue: "mail",
      leaseSeconds: 30,
      handlers: [
        handleKind(defineJobKind({ kind: newJob().kind, payload: v.looseObject({}) }), () => {
          left -= 1;
          if (left === 0) done.resolve();
        }),
      ],
    });
    await done.promise;
    await worker.stop();
  });
  // The first claim and the last end are alone, and so are those about once a second that look at more than the queue's head.
  expect(writes).toBeGreaterThanOrEqual(worked + 1);
  expect(writes).toBeLessThanOrEqual(worked + 20);
});

test("of a thousand concurrent calls at least fifty share a commit", async () => {
  const { writes } = await costOf(() => live(1000));
  expect(writes).toBeLessThanOrEqual((3 * 1000) / 50);
});

test("a life updates no row, and a renewal one: what is dead afterwards was deleted", async () => {
  await sql.unsafe(`
    create schema budget;
    create table budget.updated (name text not null);
    create function budget.note() returns trigger language plpgsql as
      $$ begin insert into budget.updated values (tg_table_name); return null; end $$`);
  for (const table of ["jobs", "ready", "lease", "outcome"])
    await sql.unsafe(
      `create trigger noted after update on jobs.${table} for each row execute function budget.note()`,
    );
  await live(50);
  ok(await jobs.producer.enqueue(newJob({ max_attempts: 2 })));
  const first = ok(await jobs.worker.claim({ queue: "mail" }));
  ok(await jobs.worker.renew(leaseOf(first)));
  ok(await jobs.worker.fail({ ...leaseOf(first), failure_code: "smtp", retryable: false }));
  expect(await sql`select name, count(*)::int as rows from budget.updated group by name`.values()).toEqual([
    ["lease", 1],
  ]);
  await sql`drop schema budget cascade`;
});
