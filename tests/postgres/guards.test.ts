import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import { type DatabaseClock, databaseClock } from "../../host-fixtures/index.ts";
import { fence } from "../../plugin/operator/index.ts";
import { testServer } from "../support/test-server.ts";
import { givenClaimed, leaseOf, newJob, ok, problem, rowOf } from "./support/jobs.ts";
import { gatedClock, gateLock, jobsDatabase } from "./support/jobs-database.ts";
import { type JobsHost, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer, untilLocksWaitedFor } from "./support/observe.ts";

await testServer();

let url: string;
let sql: SQL;
let clock: DatabaseClock;
let jobs: JobsHost;
beforeAll(async () => {
  ({ url } = await jobsDatabase());
  sql = observer(url);
  clock = databaseClock(url);
  await clock.freeze();
  jobs = await startJobs({ url });
});
beforeEach(async () => {
  await sql`truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
});
afterAll(async () => {
  await jobs.stop();
  await Promise.all([clock.close(), sql.close()]);
});

type Lease = { job_id: string; lease_token: string };
const calls = {
  complete: (lease: Lease, worker = jobs.worker) => worker.complete(lease),
  fail: (lease: Lease, worker = jobs.worker) =>
    worker.fail({ ...lease, failure_code: "smtp", retryable: true }),
  renew: (lease: Lease, worker = jobs.worker) => worker.renew(lease),
};
const everyCall = Object.keys(calls) as (keyof typeof calls)[];

/** The same job id with one byte of its random part changed. */
function anotherNonce(jobId: string): string {
  const bytes = Buffer.from(jobId.slice(4), "base64url");
  bytes[17] = (bytes[17] ?? 0) ^ 1;
  return `job_${bytes.toString("base64url")}`;
}

describe.each(everyCall)("%s", (name) => {
  test("is refused at the very moment of its lease's expiry and accepted a microsecond before", async () => {
    const late = await givenClaimed(jobs);
    await clock.advance(0.001);
    const intime = await givenClaimed(jobs);
    await clock.advance(29_999.999);
    expect(problem(await calls[name](leaseOf(late)))).toBe("invalid_lease");
    expect(problem(await calls[name](leaseOf(intime)))).toBe("ok");
  });

  test("is refused to another owner, another token, another job and another id of the row", async () => {
    const mine = await givenClaimed(jobs);
    const other = await givenClaimed(jobs);
    const wrong: [Lease, typeof jobs.worker][] = [
      [leaseOf(mine), jobs.otherWorker],
      [{ job_id: mine.job_id, lease_token: other.lease_token }, jobs.worker],
      [{ job_id: other.job_id, lease_token: mine.lease_token }, jobs.worker],
      [{ job_id: anotherNonce(mine.job_id), lease_token: mine.lease_token }, jobs.worker],
    ];
    for (const [lease, worker] of wrong)
      expect(problem(await calls[name](lease, worker))).toBe("invalid_lease");
    expect(ok(await jobs.observer.inspect({ job_id: mine.job_id })).status).toBe("running");
    expect(problem(await calls[name](leaseOf(mine)))).toBe("ok");
  });

  test("that waits for the row's lock is refused to another token, owner and id all the same", async () => {
    const mine = await givenClaimed(jobs);
    const steal = async (change: string) => {
      const blocker = await sql.reserve();
      await blocker`begin`;
      await blocker.unsafe(`update jobs.lease set ${change} where id = ${rowOf(mine.job_id)}`);
      const answer = calls[name](leaseOf(mine));
      await untilLocksWaitedFor(sql);
      await blocker`commit`;
      await blocker.release();
      return problem(await answer);
    };
    // As when the row was claimed anew, or a restore put another job in its place, while the call waited.
    expect(await steal("token = sha256('a')")).toBe("invalid_lease");
    const token = new Bun.CryptoHasher("sha256")
      .update(Buffer.from(mine.lease_token.slice(10), "base64url"))
      .digest("hex");
    await sql.unsafe(`update jobs.lease set token = '\\x${token}', owner = owner`);
    expect(await steal("owner = owner + 1")).toBe("invalid_lease");
    await sql`update jobs.lease set owner = owner - 1`;
    expect(await steal("nonce = '\\x00010203040506070809'")).toBe("invalid_lease");
  });
});

test("a spent token answers only the same call of the same owner, with the same token and arguments", async () => {
  const done = await givenClaimed(jobs);
  const other = await givenClaimed(jobs);
  const complete = (lease: Lease, worker = jobs.worker) => worker.complete(lease).then(problem);
  expect(await complete(leaseOf(done))).toBe("ok");
  expect(await complete(leaseOf(done))).toBe("ok");
  expect(await complete(leaseOf(done), jobs.otherWorker)).toBe("invalid_lease");
  expect(await complete({ ...leaseOf(done), lease_token: other.lease_token })).toBe("invalid_lease");
  expect(await complete({ ...leaseOf(done), job_id: anotherNonce(done.job_id) })).toBe("invalid_lease");
  expect(problem(await calls.fail(leaseOf(done)))).toBe("invalid_lease");
  expect(problem(await calls.renew(leaseOf(done)))).toBe("invalid_lease");
});

test.each([
  [true, 3, "queued"],
  [false, 3, "failed"],
  [true, 1, "failed"],
])(
  "a failure (retryable %s, attempts %d) is repeated only word for word",
  async (retryable, max_attempts, status) => {
    const claimed = await givenClaimed(jobs, { max_attempts });
    const other = await givenClaimed(jobs);
    const call = { ...leaseOf(claimed), failure_code: "smtp", retryable };
    const first = ok(await jobs.worker.fail(call));
    expect(first.status as string).toBe(status);
    expect(ok(await jobs.worker.fail(call))).toEqual(first);
    const refused = [
      { ...call, failure_code: "smtp2" },
      { ...call, retryable: !retryable },
      { ...call, lease_token: other.lease_token },
    ];
    for (const each of refused) expect(problem(await jobs.worker.fail(each))).toBe("invalid_lease");
    expect(problem(await jobs.otherWorker.fail(call))).toBe("invalid_lease");
    expect(problem(await jobs.worker.complete(leaseOf(claimed)))).toBe("invalid_lease");
  },
);

test("each claim and fence raises the generation, and nothing lowers it", async () => {
  const generations: number[] = [];
  const look = async () => {
    const [row] = await sql`
      select coalesce(max(generation), 0)::int as generation from (select generation from jobs.lease union all select generation from jobs.ready) g`;
    generations.push(row.generation);
  };
  ok(await jobs.producer.enqueue(newJob({ max_attempts: 10 })));
  await look();
  for (let round = 0; round < 2; round += 1) {
    const claimed = ok(await jobs.worker.claim({ queue: "mail" }));
    await look();
    ok(await calls.fail(leaseOf(claimed)));
    await look();
    await clock.advance(60_000);
  }
  const left = ok(await jobs.worker.claim({ queue: "mail" }));
  await look();
  await clock.advance(30_000);
  await jobs.maintain();
  await look();
  expect(problem(await jobs.worker.complete(leaseOf(left)))).toBe("invalid_lease");
  const again = ok(await jobs.worker.claim({ queue: "mail" }));
  const tokenHash = async () => (await sql`select encode(token, 'hex') as hash from jobs.lease`)[0].hash;
  const before = await tokenHash();
  expect((await fence({ databaseUrl: url, schema: "jobs" })).ok).toBe(true);
  expect(await tokenHash()).not.toBe(before);
  expect(problem(await jobs.worker.renew(leaseOf(again)))).toBe("invalid_lease");
  await look();
  expect(generations).toEqual([0, 1, 1, 2, 2, 3, 3, 5]);
});

test("a claim that its caller left gives job, attempt and run time back, and keeps the generation", async () => {
  await using gated = await startJobs({ url, clock: gatedClock });
  // A claim looks at expired leases about once a second; this one does, the next one goes to the ready jobs at once.
  expect(problem(await gated.worker.claim({ queue: "mail" }))).toBe("no_job_available");
  ok(await gated.producer.enqueue(newJob()));
  const [before] = await sql`select next_run::text, id from jobs.ready`;
  const gate = await sql.reserve();
  await gate`select pg_advisory_lock(${gateLock}::bigint)`;
  const leave = new AbortController();
  const claim = gated.worker.claim({ queue: "mail" }, { signal: leave.signal });
  await untilLocksWaitedFor(sql, 1, "advisory");
  leave.abort();
  expect(problem(await claim)).toBe("runtime:cancelled");
  await gate`select pg_advisory_unlock(${gateLock}::bigint)`;
  await gate.release();
  await gated.stop(); // awaits the undo
  const rows = await sql`select next_run::text, id, attempt::int, generation::int from jobs.ready`;
  expect(rows[0]).toEqual({ ...before, attempt: 0, generation: 1 });
  expect(await expectEachJobInOnePlace(sql)).toBe(1);
});

test("a job that was exhausted is never handed out, by maintenance or by a claim", async () => {
  const dead = await givenClaimed(jobs, { max_attempts: 2 });
  ok(await calls.fail(leaseOf(dead)));
  await clock.advance(60_000);
  expect(ok(await jobs.worker.claim({ queue: "mail" })).attempt).toBe(2);
  await clock.advance(30_000);
  await jobs.maintain();
  expect(problem(await jobs.worker.claim({ queue: "mail" }))).toBe("no_job_available");
  const seen = ok(await jobs.observer.inspect({ job_id: dead.job_id }));
  expect(seen).toMatchObject({ status: "failed", attempts: 2, last_failure_code: "attempts_exhausted" });
});

test("a failure of the last attempt is final although it is retryable", async () => {
  const claimed = await givenClaimed(jobs, { max_attempts: 1 });
  expect(ok(await calls.fail(leaseOf(claimed)))).toEqual({ status: "failed", available_at: null });
});

test("a job with a past available_at runs in the order of its insert, not before those that waited", async () => {
  const first = ok(await jobs.producer.enqueue(newJob({ available_at: await clock.now() })));
  await clock.advance(1000);
  const late = ok(await jobs.producer.enqueue(newJob({ available_at: "2001-01-01T00:00:00Z" })));
  expect(ok(await jobs.worker.claim({ queue: "mail" })).job_id).toBe(first.job_id);
  expect(ok(await jobs.worker.claim({ queue: "mail" })).job_id).toBe(late.job_id);
});

test("a job is claimable from its very microsecond on, and not before", async () => {
  const now = Date.parse(await clock.now());
  ok(await jobs.producer.enqueue(newJob({ available_at: new Date(now + 5000).toISOString() })));
  await clock.advance(4990);
  expect(problem(await jobs.worker.claim({ queue: "mail" }))).toBe("no_job_available");
  await clock.advance(10);
  ok(await jobs.worker.claim({ queue: "mail" }));
  await clock.advance(1);
  ok(await jobs.producer.enqueue(newJob({ available_at: await clock.now() })));
  ok(await jobs.worker.claim({ queue: "mail" }));
});

test("a job below the low-water mark is found before a claim says that there is none", async () => {
  await using elsewhere = await startJobs({ url });
  for (let count = 0; count < 3; count += 1) await givenClaimed(jobs);
  // Another process retries a job whose run time lies below what this one claimed last.
  const early = ok(await elsewhere.producer.enqueue(newJob()));
  await sql`update jobs.ready set next_run = next_run - interval '1 day'`;
  expect(ok(await jobs.worker.claim({ queue: "mail" })).job_id).toBe(early.job_id);
});

test("maintenance retires at most 64 exhausted jobs at a look and requeues the retryable beside them", async () => {
  for (let count = 0; count < 70; count += 1) ok(await jobs.producer.enqueue(newJob({ max_attempts: 1 })));
  const taken = await Promise.all(Array.from({ length: 70 }, () => jobs.worker.claim({ queue: "mail" })));
  expect(taken.every((claim) => claim.ok)).toBe(true);
  const retryable = await givenClaimed(jobs);
  await clock.advance(30_000);
  await using fresh = await startJobs({ url });
  expect(ok(await fresh.worker.claim({ queue: "mail" }))).toMatchObject({
    job_id: retryable.job_id,
    attempt: 2,
  });
  const [row] = await sql`select count(*)::int as retired from jobs.outcome`;
  expect(row.retired).toBeGreaterThanOrEqual(64);
  await jobs.maintain();
  expect((await sql`select count(*)::int as retired from jobs.outcome`)[0].retired).toBe(70);
});

test("two differing failures under one lease at once: one settles it, the other is refused", async () => {
  const claimed = await givenClaimed(jobs);
  const both = await Promise.all(
    ["a", "b"].map((failure_code) =>
      jobs.worker.fail({ ...leaseOf(claimed), failure_code, retryable: true }),
    ),
  );
  expect(both.map(problem).toSorted()).toEqual(["invalid_lease", "ok"]);
});

test("nobody does what its role does not allow, and learns nothing of whether its values were valid", async () => {
  const claimed = leaseOf(await givenClaimed(jobs));
  const { producer, worker, observer: looker, stranger } = jobs;
  const bad = { job_id: "nonsense", lease_token: "nonsense" };
  const refused = [
    ...[worker, looker, stranger].flatMap((who) => [
      who.enqueue(newJob()),
      who.enqueue(newJob({ queue: "none" })),
    ]),
    ...[producer, looker, stranger].flatMap((who) => [
      who.claim({ queue: "mail" }),
      who.claim({ queue: "none" }),
      ...[claimed, bad].flatMap((lease) => everyCall.map((name) => calls[name](lease, who))),
    ]),
    stranger.inspect({ job_id: claimed.job_id }),
    stranger.inspect({ job_id: "nonsense" }),
  ];
  expect(new Set((await Promise.all(refused)).map(problem))).toEqual(new Set(["unauthorized"]));
  ok(await worker.complete(claimed));
});

test("a queue that is not configured is refused to producer and worker", async () => {
  expect(problem(await jobs.producer.enqueue(newJob({ queue: "none" })))).toBe("invalid_job");
  expect(problem(await jobs.worker.claim({ queue: "none" }))).toBe("invalid_queue");
});
