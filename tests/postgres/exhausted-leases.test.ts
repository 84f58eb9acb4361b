import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import { testServer } from "../support/test-server.ts";
import { givenBacklog } from "./support/backlog.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, type JobsHost, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "./support/observe.ts";

await testServer();

const exhausted = 5000;
const retiredByOneClaim = 64;

describe.each(drivers)("over the driver %s", (driver) => {
  let url: string;
  let sql: SQL;
  beforeAll(async () => {
    ({ url } = await jobsDatabase());
    sql = observer(url);
  });
  beforeEach(async () => {
    await sql`truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
  });
  afterAll(() => sql.close());

  const retired = async (): Promise<number> =>
    (await sql`select count(*)::int as retired from jobs.outcome where code = 'attempts_exhausted'`)[0]
      .retired;

  /** Expired leases without an attempt left, and some with attempts left that expired after all of those. */
  async function givenExpired({ queue = "mail", left = 0 } = {}): Promise<void> {
    const nextRun = "timestamptz '2021-01-01' + n * interval '1 second'";
    await givenBacklog(sql, { queue, jobs: exhausted, nextRun, place: "lease" });
    await sql`update jobs.lease set attempt = max_attempts`;
    if (left > 0)
      await givenBacklog(sql, {
        queue,
        jobs: left,
        nextRun: nextRun.replace("2021", "2022"),
        place: "lease",
        prefix: "left",
      });
  }

  async function claimUntilOne(jobs: JobsHost, claims: number): Promise<number> {
    for (let count = 1; count <= claims; count += 1) {
      const claimed = await jobs.worker.claim({ queue: "mail" });
      if (claimed.ok) return (expect(claimed.value.attempt).toBe(2), count);
    }
    throw new Error(`${claims} claims got no job`);
  }

  test("a job with attempts left is handed out within a few claims although thousands that are exhausted expired before it", async () => {
    await givenExpired({ left: 1 });
    await using jobs = await startJobs({ url, driver });
    const claims = await claimUntilOne(jobs, 3);
    expect(await retired()).toBeLessThanOrEqual(claims * retiredByOneClaim);
  });

  test("one claim retires at most 64 jobs, and maintenance the others in a round or two", async () => {
    await givenExpired();
    await using jobs = await startJobs({ url, driver });
    expect((await jobs.worker.claim({ queue: "mail" })).ok).toBe(false);
    expect(await retired()).toBe(retiredByOneClaim);
    await jobs.maintain();
    await jobs.maintain();
    expect(await retired()).toBe(exhausted);
    expect(await expectEachJobInOnePlace(sql)).toBe(exhausted);
  });

  test("maintenance finds a queue that has nothing but exhausted leases, configured or not", async () => {
    await givenExpired({ queue: "forgotten" });
    await using jobs = await startJobs({ url, driver });
    await jobs.maintain();
    await jobs.maintain();
    expect(await retired()).toBe(exhausted);
  });
});
