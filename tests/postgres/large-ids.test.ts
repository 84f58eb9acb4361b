import { describe, expect, test } from "bun:test";
import { databaseClock } from "../../host-fixtures/index.ts";
import { testServer } from "../support/test-server.ts";
import { givenClaimed, leaseOf, newJob, ok, problem, rowOf } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "./support/observe.ts";

await testServer();

/** Where a count of 32 bits, and where the integers that a number of JavaScript can hold, come to their end. */
const edges = [2n ** 31n, 2n ** 53n];

describe.each(drivers)("over the driver %s", (driver) => {
  test.each(edges)("jobs go through every state on both sides of id %s", async (edge) => {
    const { url } = await jobsDatabase();
    await using clock = databaseClock(url);
    await using sql = observer(url);
    await using jobs = await startJobs({ url, driver });
    await clock.freeze();
    await sql.unsafe(`alter sequence jobs.jobs_id_seq restart with ${edge - 2n}`);

    const rows: bigint[] = [];
    for (let round = 0; round < 5; round += 1) {
      const claimed = await givenClaimed(jobs, { max_attempts: 2 });
      const { job_id } = claimed;
      rows.push(BigInt(rowOf(job_id)));
      ok(await jobs.worker.renew(leaseOf(claimed)));
      ok(await jobs.worker.fail({ ...leaseOf(claimed), failure_code: "smtp", retryable: true }));
      await clock.advance(60_000);
      const again = ok(await jobs.worker.claim({ queue: "mail" }));
      expect(again).toMatchObject({ job_id, attempt: 2 });
      ok(await jobs.worker.complete(leaseOf(again)));
      expect(problem(await jobs.worker.complete(leaseOf(claimed)))).toBe("invalid_lease");
      expect(ok(await jobs.observer.inspect({ job_id }))).toMatchObject({ job_id, status: "succeeded" });

      const request = newJob({ max_attempts: 1 });
      const lost = ok(await jobs.producer.enqueue(request));
      rows.push(BigInt(rowOf(lost.job_id)));
      expect(ok(await jobs.producer.enqueue(request))).toEqual({ job_id: lost.job_id, created: false });
      ok(await jobs.worker.claim({ queue: "mail" }));
      await clock.advance(60_000);
      await jobs.maintain();
      expect(ok(await jobs.observer.inspect({ job_id: lost.job_id }))).toMatchObject({ status: "failed" });
    }
    // The sequence also gives a number to an enqueue whose key was there already.
    expect(rows.some((row) => row < edge)).toBe(true);
    expect(rows.some((row) => row > edge)).toBe(true);
    expect(new Set(rows).size).toBe(10);
    expect(await expectEachJobInOnePlace(sql)).toBe(10);
  });
});
