import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { SQL } from "bun";
import { type DatabaseClock, databaseClock } from "../../host-fixtures/index.ts";
import { testServer } from "../support/test-server.ts";
import { givenClaimed, leaseOf, newJob, ok, problem } from "./support/jobs.ts";
import { gatedClock, gateLock, jobsDatabase } from "./support/jobs-database.ts";
import { type JobsHost, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer, untilLocksWaitedFor } from "./support/observe.ts";

await testServer();

// Two processes' worth of hosts on one schema. The first one's statements stop at the gate, their snapshot already taken; the
// second one's do not.
let sql: SQL;
let clock: DatabaseClock;
let gated: JobsHost;
let jobs: JobsHost;
beforeAll(async () => {
  const { url } = await jobsDatabase();
  sql = observer(url);
  clock = databaseClock(url);
  await clock.freeze();
  gated = await startJobs({ url, clock: gatedClock });
  jobs = await startJobs({ url });
});
beforeEach(async () => {
  for (;;) {
    const left = await jobs.worker.claim({ queue: "mail" });
    if (!left.ok) return;
    ok(await jobs.worker.complete(leaseOf(left.value)));
  }
});
afterAll(async () => {
  await Promise.all([gated.stop(), jobs.stop()]);
  await expectEachJobInOnePlace(sql);
  await Promise.all([clock.close(), sql.close()]);
});

/** Runs `meanwhile` after a statement of `start` took its snapshot and before it looks at a row. */
async function inTheGap<T>(start: () => Promise<T>, meanwhile: () => Promise<void>): Promise<T> {
  const gate = await sql.reserve();
  await gate`select pg_advisory_lock(${gateLock}::bigint)`;
  const answer = start();
  try {
    await untilLocksWaitedFor(sql, 1, "advisory");
    await meanwhile();
  } finally {
    await gate`select pg_advisory_unlock(${gateLock}::bigint)`;
    await gate.release();
  }
  return answer;
}

const reapers = {
  maintenance: () => gated.maintain(),
  "a claim": async () => void (await gated.otherWorker.claim({ queue: "mail" })),
} as const;

const both = Object.keys(reapers) as (keyof typeof reapers)[];
const bothWithAndWithoutAttemptsLeft = both.flatMap((reaper) => [[reaper, 3] as const, [reaper, 1] as const]);

test.each(bothWithAndWithoutAttemptsLeft)(
  "a job that was completed in %s's gap stays completed (attempts %d)",
  async (reaper, max_attempts) => {
    const claimed = await givenClaimed(jobs, { max_attempts });
    await inTheGap(reapers[reaper], async () => {
      ok(await jobs.worker.complete(leaseOf(claimed)));
      await clock.advance(30_000);
    });
    const seen = ok(await jobs.observer.inspect({ job_id: claimed.job_id }));
    expect(seen).toMatchObject({ status: "succeeded", attempts: 1, last_failure_code: null });
    await expectEachJobInOnePlace(sql);
  },
);

test.each(bothWithAndWithoutAttemptsLeft)(
  "a lease that was renewed in %s's gap survives and still completes (attempts %d)",
  async (reaper, max_attempts) => {
    const claimed = await givenClaimed(jobs, { max_attempts });
    await clock.advance(20_000);
    await inTheGap(reapers[reaper], async () => {
      ok(await jobs.worker.renew(leaseOf(claimed)));
      await clock.advance(15_000);
    });
    const seen = ok(await jobs.observer.inspect({ job_id: claimed.job_id }));
    expect(seen).toMatchObject({ status: "running", attempts: 1, last_failure_code: null });
    ok(await jobs.worker.complete(leaseOf(claimed)));
  },
);

test.each(both)("a job that was claimed anew in %s's gap keeps its fresh lease", async (reaper) => {
  const first = await givenClaimed(jobs);
  await clock.advance(30_000);
  let second: Awaited<ReturnType<typeof givenClaimed>> | undefined;
  await inTheGap(reapers[reaper], async () => {
    second = ok(await jobs.worker.claim({ queue: "mail" }));
  });
  expect(second).toMatchObject({ job_id: first.job_id, attempt: 2 });
  expect(problem(await jobs.worker.complete(leaseOf(first)))).toBe("invalid_lease");
  ok(await jobs.worker.renew(leaseOf(second as NonNullable<typeof second>)));
  ok(await jobs.worker.complete(leaseOf(second as NonNullable<typeof second>)));
});

test("a holder's completion that another one overtakes in its gap is refused or repeated, never applied twice", async () => {
  const claimed = await givenClaimed(jobs);
  const answer = await inTheGap(
    () => gated.worker.complete(leaseOf(claimed)),
    async () => void ok(await jobs.worker.complete(leaseOf(claimed))),
  );
  expect(problem(answer)).toBe("ok");
  await expectEachJobInOnePlace(sql);
});

test("a failure that a completion overtakes in its gap is refused", async () => {
  const claimed = await givenClaimed(jobs);
  const answer = await inTheGap(
    () => gated.worker.fail({ ...leaseOf(claimed), failure_code: "smtp", retryable: true }),
    async () => void ok(await jobs.worker.complete(leaseOf(claimed))),
  );
  expect(problem(answer)).toBe("invalid_lease");
  expect(ok(await jobs.observer.inspect({ job_id: claimed.job_id })).status).toBe("succeeded");
});

test("a job whose lease expires while the completion's first statement waits is not completed", async () => {
  const claimed = await givenClaimed(jobs);
  const answer = await inTheGap(
    () => gated.worker.complete(leaseOf(claimed)),
    () => clock.advance(30_000),
  );
  expect(problem(answer)).toBe("invalid_lease");
  expect(ok(await jobs.observer.inspect({ job_id: claimed.job_id })).status).toBe("running");
});

test("a claim that another one overtakes in its gap takes the next job", async () => {
  const [a, b] = [await givenQueued(), await givenQueued()];
  const overtaken = await inTheGap(
    () => gated.otherWorker.claim({ queue: "mail" }),
    async () => expect(ok(await jobs.worker.claim({ queue: "mail" })).job_id).toBe(a),
  );
  expect(ok(overtaken)).toMatchObject({ job_id: b, attempt: 1 });
  await clock.advance(30_000);
});

async function givenQueued(): Promise<string> {
  await clock.advance(1);
  return ok(await jobs.producer.enqueue(newJob())).job_id;
}
