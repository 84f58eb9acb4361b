import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import type { CallResult } from "../../capability/index.ts";
import { type DatabaseClock, databaseClock } from "../../host-fixtures/index.ts";
import { type TestDatabase, testDatabase } from "../support/test-database.ts";
import { testServer } from "../support/test-server.ts";
import { detail, givenClaimed, leaseOf, newJob, ok, problem, rowOf } from "./support/jobs.ts";
import { prepareJobsDatabase } from "./support/jobs-database.ts";
import { drivers, type JobsHost, startJobs } from "./support/jobs-host.ts";
import {
  expectEachJobInOnePlace,
  observer,
  untilLocksWaitedFor,
  type Watched,
  watch,
} from "./support/observe.ts";

await testServer(); // may have to start one, which takes longer than a hook may

/** How a call under a lease is made, and what answers it when the lease is valid. */
type Call = (jobs: JobsHost, lease: Lease) => Promise<CallResult<unknown, string>>;
const calls: Record<"complete" | "fail" | "renew", Call> = {
  complete: (jobs, lease) => jobs.worker.complete(lease),
  fail: (jobs, lease) => jobs.worker.fail({ ...lease, failure_code: "smtp", retryable: true }),
  renew: (jobs, lease) => jobs.worker.renew(lease),
};
type Lease = { job_id: string; lease_token: string };

/** What the holder of the row's lock does with it. `renewed` moves the expiry, `changed` another column. */
const blockers = {
  "committed a change": { sql: "update jobs.lease set last_code = 'touched'", end: "commit" },
  "rolled a renewal back": {
    sql: "update jobs.lease set expires_at = expires_at + interval '1 hour'",
    end: "rollback",
  },
  "had only locked it": { sql: "select from jobs.lease", end: "commit" },
  "committed a renewal": {
    sql: "update jobs.lease set expires_at = expires_at + interval '1 hour'",
    end: "commit",
  },
};

describe.each(drivers)("over the driver %s", (driver) => {
  let database: TestDatabase;
  let sql: SQL;
  let clock: DatabaseClock;
  let jobs: JobsHost;
  beforeAll(async () => {
    database = await testDatabase({ template: "jobs_engine", prepare: prepareJobsDatabase });
    sql = observer(database.url, 8);
    clock = databaseClock(database.url);
    await clock.freeze();
    jobs = await startJobs({ url: database.url, driver });
  });
  afterAll(async () => {
    await jobs.stop();
    await expectEachJobInOnePlace(sql);
    await Promise.all([clock.close(), sql.close()]);
  });

  /** Takes the row's lock on a connection of its own and answers how to let go. */
  async function hold(jobId: string, statement: string): Promise<(end: string) => Promise<void>> {
    const blocker = await sql.reserve();
    await blocker`begin`;
    const lock = statement.startsWith("select") ? " for update" : "";
    await blocker.unsafe(`${statement} where id = ${rowOf(jobId)}${lock}`);
    return async (end) => {
      await blocker.unsafe(end);
      await blocker.release();
    };
  }

  describe.each(Object.keys(calls) as (keyof typeof calls)[])("%s", (name) => {
    test.each(["committed a change", "rolled a renewal back", "had only locked it"] as const)(
      "is refused when it waited past its lease for somebody who %s",
      async (blocker) => {
        const claimed = await givenClaimed(jobs);
        const release = await hold(claimed.job_id, blockers[blocker].sql);
        const answer = calls[name](jobs, leaseOf(claimed));
        await untilLocksWaitedFor(sql);
        await clock.advance(30_000);
        await release(blockers[blocker].end);
        expect(problem(await answer)).toBe("invalid_lease");

        const [row] =
          await sql`select attempt::int, expires_at <= lenso_test_clock.now() as expired from jobs.lease`;
        expect(row).toEqual({ attempt: 1, expired: true });
        await jobs.maintain();
        ok(await jobs.worker.complete(leaseOf(ok(await jobs.worker.claim({ queue: "mail" })))));
      },
    );

    test.each([
      ["committed a renewal", 30_000],
      ["rolled a renewal back", 29_999],
      ["had only locked it", 29_999],
      ["committed a change", 29_999],
    ] as const)(
      "is accepted when its lease is valid after a wait for somebody who %s",
      async (blocker, waitedMs) => {
        const claimed = await givenClaimed(jobs);
        const release = await hold(claimed.job_id, blockers[blocker].sql);
        const answer = calls[name](jobs, leaseOf(claimed));
        await untilLocksWaitedFor(sql);
        await clock.advance(waitedMs);
        await release(blockers[blocker].end);
        expect(problem(await answer)).toBe("ok");

        const seen = ok(await jobs.observer.inspect({ job_id: claimed.job_id }));
        expect(seen.status).toBe(
          ({ complete: "succeeded", fail: "queued", renew: "running" } as const)[name],
        );
        if (name === "renew") ok(await jobs.worker.complete(leaseOf(claimed)));
        if (name === "fail") await finishRetry();
      },
    );
  });

  /** Leaves the queue empty for the next test. */
  async function finishRetry(): Promise<void> {
    await clock.advance(60_000);
    ok(await jobs.worker.complete(leaseOf(ok(await jobs.worker.claim({ queue: "mail" })))));
  }

  test("locked rows, more of them than there are connections to wait on, stall no other call", async () => {
    const held = [];
    for (let index = 0; index < 6; index += 1) held.push(await givenClaimed(jobs));
    const other = [];
    for (let index = 0; index < 3; index += 1) other.push(await givenClaimed(jobs));
    const releases = [];
    for (const { job_id } of held) releases.push(await hold(job_id, "select from jobs.lease"));
    const waiting: Watched<CallResult<unknown, string>>[] = [];
    for (const [index, claimed] of held.entries()) {
      const name = (["complete", "fail", "renew"] as const)[index % 3] ?? "complete";
      waiting.push(watch(calls[name](jobs, leaseOf(claimed))));
      // A statement of its own for each: together they would take one of the kind's two places only.
      ok(await jobs.observer.inspect({ job_id: claimed.job_id }));
    }
    await untilLocksWaitedFor(sql, 4);

    const [a, b, c] = other.map(leaseOf) as [Lease, Lease, Lease];
    ok(await jobs.worker.complete(a));
    ok(await jobs.worker.fail({ ...b, failure_code: "smtp", retryable: false }));
    ok(await jobs.worker.renew(c));
    ok(await jobs.worker.complete(c));
    ok(await jobs.worker.complete(leaseOf(await givenClaimed(jobs))));
    await jobs.maintain();
    ok(await jobs.observer.inspect({ job_id: a.job_id }));
    expect(waiting.every((call) => call.open)).toBe(true);

    for (const release of releases) await release("rollback");
    expect((await Promise.all(waiting.map((call) => call.promise))).map(problem)).toEqual(
      held.map(() => "ok"),
    );
    for (const claimed of held) await jobs.worker.complete(leaseOf(claimed));
    await finishAll();
  });

  async function finishAll(): Promise<void> {
    await clock.advance(60_000);
    for (;;) {
      const claimed = await jobs.worker.claim({ queue: "mail" });
      if (!claimed.ok) break;
      ok(await jobs.worker.complete(leaseOf(claimed.value)));
    }
  }

  test("a ready row that somebody holds locked is skipped, and its neighbours are claimed", async () => {
    const first = ok(await jobs.producer.enqueue(newJob({ available_at: "2019-01-01T00:00:00Z" })));
    await clock.advance(1);
    const second = ok(await jobs.producer.enqueue(newJob()));
    const release = await hold(first.job_id, "select from jobs.ready");
    const claimed = ok(await jobs.worker.claim({ queue: "mail" }));
    expect(claimed.job_id).toBe(second.job_id);
    expect(problem(await jobs.worker.claim({ queue: "mail" }))).toBe("no_job_available");
    await release("rollback");
    expect(ok(await jobs.worker.claim({ queue: "mail" })).job_id).toBe(first.job_id);
    await clock.advance(60_000);
    await jobs.maintain();
    await finishAll();
  });

  test("an expired lease that somebody holds locked is left by maintenance, which does not wait", async () => {
    const locked = await givenClaimed(jobs);
    const free = await givenClaimed(jobs);
    await clock.advance(30_000);
    const release = await hold(locked.job_id, "select from jobs.lease");
    await jobs.maintain();
    expect(ok(await jobs.observer.inspect({ job_id: free.job_id })).status).toBe("queued");
    expect(ok(await jobs.observer.inspect({ job_id: locked.job_id })).status).toBe("running");
    await release("rollback");
    await finishAll();
  });
});

test("a row that stays locked makes only the calls under its own lease unavailable", async () => {
  const database = await testDatabase({ template: "jobs_engine", prepare: prepareJobsDatabase });
  await using sql = observer(database.url);
  await using jobs = await startJobs({ url: database.url });
  const held: Lease[] = [];
  for (let index = 0; index < 3; index += 1) held.push(leaseOf(await givenClaimed(jobs)));
  const [a, b, c] = held as [Lease, Lease, Lease];
  const blocker = await sql.reserve();
  await blocker`begin`;
  await blocker`select from jobs.lease for update`;

  const stuck = [calls.complete(jobs, a), calls.renew(jobs, b), calls.fail(jobs, c)].map((call) =>
    watch(call),
  );
  await untilLocksWaitedFor(sql, 3);
  let others = 0;
  while (stuck.some((call) => call.open)) {
    ok(await jobs.worker.complete(leaseOf(await givenClaimed(jobs))));
    others += 1;
  }
  for (const { promise } of stuck) {
    expect(problem(await promise)).toBe("runtime:unavailable");
    expect(detail(await promise)).toContain("55P03");
  }
  expect(others).toBeGreaterThan(10);
  await blocker`rollback`;
  await blocker.release();
  for (const lease of held) ok(await jobs.worker.complete(lease));
  await expectEachJobInOnePlace(sql);
}, 30_000);
