import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import type { CallResult } from "../../capability/index.ts";
import { testServer } from "../support/test-server.ts";
import { givenClaimed, leaseOf, newJob, ok, problem, rowOf } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, type JobsHost, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer, until, untilLocksWaitedFor, watch } from "./support/observe.ts";

await testServer();

type Lease = { job_id: string; lease_token: string };
type Options = { readonly timeoutMs: number };
const calls: Record<string, (jobs: JobsHost, lease: Lease, options?: Options) => Promise<Answer>> = {
  complete: (jobs, lease, options) => jobs.worker.complete(lease, options),
  renew: (jobs, lease, options) => jobs.worker.renew(lease, options),
  fail: (jobs, lease, options) =>
    jobs.worker.fail({ ...lease, failure_code: "smtp", retryable: false }, options),
  "fail with another code": (jobs, lease, options) =>
    jobs.worker.fail({ ...lease, failure_code: crypto.randomUUID(), retryable: false }, options),
};
type Answer = CallResult<unknown, string>;

/** What a failed test left held would stop the next one. */
const held = new Set<() => Promise<void>>();
afterEach(async () => {
  for (const release of held) await release();
});

/** Begins a transaction with that statement; answers how to end it. */
async function hold(sql: SQL, statement: string): Promise<() => Promise<void>> {
  const blocker = await sql.reserve();
  await blocker`begin`;
  await blocker.unsafe(statement);
  const release = async (): Promise<void> => {
    if (!held.delete(release)) return;
    await blocker`rollback`;
    await blocker.release();
  };
  held.add(release);
  return release;
}

const lockOf = ({ job_id }: Lease) => `select from jobs.lease where id = ${rowOf(job_id)} for update`;

describe.each(drivers)("over the driver %s", (driver) => {
  let sql: SQL;
  let jobs: JobsHost;
  beforeAll(async () => {
    const { url } = await jobsDatabase();
    sql = observer(url, 8);
    jobs = await startJobs({ url, driver });
  });
  beforeEach(async () => {
    // What was asked again and again in the test before may still look for its token.
    await until("what is under way to end", async () => (await underWay()) === 0);
    await sql`truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
  });
  afterAll(async () => {
    await jobs.stop();
    await expectEachJobInOnePlace(sql);
    await sql.close();
  });

  async function underWay(): Promise<number> {
    const [row] = await sql`
      select count(*)::int as statements from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`;
    return row.statements;
  }

  async function waiting(): Promise<number> {
    const [row] = await sql`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return row.waiting;
  }

  /** One call that stays, and ten that give up one after the other. */
  async function askAgainAndAgain(name: string, lease: Lease) {
    const call = calls[name] as (typeof calls)[string];
    const first = watch(call(jobs, lease));
    await untilLocksWaitedFor(sql, 1);
    for (let count = 0; count < 10; count += 1)
      expect(problem(await call(jobs, lease, { timeoutMs: 30 }))).toBe("runtime:deadline_exceeded");
    return first;
  }

  test.each(Object.keys(calls))(
    "a caller that asks %s again and again for a locked row takes one place, and others that wait for a moment are answered",
    async (name) => {
      const locked = leaseOf(await givenClaimed(jobs));
      const other = leaseOf(await givenClaimed(jobs));
      ok(await jobs.producer.enqueue(newJob({ queue: "other" })));
      const release = await hold(sql, lockOf(locked));
      const first = await askAgainAndAgain(name, locked);
      expect(await waiting()).toBe(1);

      const releaseOther = await hold(sql, lockOf(other));
      const moment = watch((calls[name] as (typeof calls)[string])(jobs, other));
      await untilLocksWaitedFor(sql, 2);
      ok(await jobs.worker.claim({ queue: "other" }));
      expect(moment.open).toBe(true);
      await releaseOther();
      ok(await moment.promise);
      expect(first.open).toBe(true);
      expect(await waiting()).toBe(1);
      await release();
      ok(await first.promise);
    },
  );

  test("a stop is held up no longer than by one wait for a row, however often its callers asked", async () => {
    const { url } = await jobsDatabase();
    await using look = observer(url);
    const host = await startJobs({ url, driver });
    const locked = leaseOf(await givenClaimed(host));
    const release = await hold(look, lockOf(locked));
    const call = calls.complete as (typeof calls)[string];
    const first = watch(call(host, locked));
    await untilLocksWaitedFor(look, 1);
    for (let count = 0; count < 10; count += 1)
      expect(problem(await call(host, locked, { timeoutMs: 30 }))).toBe("runtime:deadline_exceeded");
    const startedAt = performance.now();
    await host.stop(); // the row is still locked: one lock time-out of five seconds at most
    expect(performance.now() - startedAt).toBeLessThan(6500);
    expect(first.open).toBe(false);
    await release();
    expect(problem(await first.promise)).toBe("runtime:unavailable");
  }, 20_000);
});

test("the undo of aborted claims delays no other claim, of their queues either, while something holds it up", async () => {
  const { url } = await jobsDatabase();
  await using sql = observer(url, 8);
  await using jobs = await startJobs({ url, driver: "pg" });
  const queues = ["mail", "other"];
  for (const queue of [...queues, ...queues, ...queues]) ok(await jobs.producer.enqueue(newJob({ queue })));
  await sql`create function public.wait_for_test() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(1); return old; end $$`.simple();
  await sql`create trigger wait_for_test before delete on jobs.lease for each row execute function public.wait_for_test()`.simple();
  const releaseUndo = await hold(sql, "select pg_advisory_xact_lock(1)");
  const inserts = await hold(sql, "lock table jobs.lease in share mode");
  const leave = new AbortController();
  // As many as may claim at once.
  const aborted = [jobs.worker, jobs.otherWorker].flatMap((owner) =>
    queues.map((queue) => owner.claim({ queue }, { signal: leave.signal })),
  );
  await untilLocksWaitedFor(sql, 1);
  leave.abort();
  for (const answer of aborted) expect(problem(await answer)).toBe("runtime:cancelled");
  await inserts();
  await untilLocksWaitedFor(sql, aborted.length);

  for (const queue of queues) ok(await jobs.worker.claim({ queue }));
  // The claims did not wait until the undo had given up: it still goes on.
  await releaseUndo();
  await until("the undone claims", async () => {
    const [row] =
      await sql`select count(*)::int as back from jobs.ready where generation = 1 and attempt = 0`;
    return row.back === aborted.length;
  });
});
