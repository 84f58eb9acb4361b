import { describe, expect, test } from "bun:test";
import { databaseClock } from "../../host-fixtures/index.ts";
import { testServer } from "../support/test-server.ts";
import { givenClaimed, leaseOf, newJob, ok, problem } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "./support/observe.ts";

await testServer();

// The plain run of every statement. It must stay green when a guard is taken out: then the guard's own test speaks of the guard,
// and not of a statement that no longer parses.
describe.each(drivers)("over the driver %s", (driver) => {
  test("a job goes through every state, and every statement does its ordinary work", async () => {
    const { url } = await jobsDatabase();
    await using clock = databaseClock(url);
    await using sql = observer(url);
    await using jobs = await startJobs({ url, driver });
    await clock.freeze();
    const request = newJob();
    const { job_id } = ok(await jobs.producer.enqueue(request));
    expect(ok(await jobs.producer.enqueue(request))).toEqual({ job_id, created: false });
    const inspect = async () => ok(await jobs.observer.inspect({ job_id }));
    expect(await inspect()).toMatchObject({ status: "queued", attempts: 0, queue: "mail" });

    const first = ok(await jobs.worker.claim({ queue: "mail" }));
    expect(first).toMatchObject({ job_id, attempt: 1, payload: request.payload });
    ok(await jobs.worker.renew(leaseOf(first)));
    const failed = ok(await jobs.worker.fail({ ...leaseOf(first), failure_code: "smtp", retryable: true }));
    expect(failed.status).toBe("queued");
    await clock.advance(60_000);
    const second = ok(await jobs.worker.claim({ queue: "mail" }));
    expect(second).toMatchObject({ job_id, attempt: 2 });
    await clock.advance(60_000);
    await jobs.maintain();
    expect(await inspect()).toMatchObject({ status: "queued", last_failure_code: "lease_expired" });
    const third = ok(await jobs.worker.claim({ queue: "mail" }));
    ok(await jobs.worker.complete(leaseOf(third)));
    expect(await inspect()).toMatchObject({ status: "succeeded", attempts: 3 });

    const final = await givenClaimed(jobs);
    const verdict = ok(await jobs.worker.fail({ ...leaseOf(final), failure_code: "gone", retryable: false }));
    expect(verdict).toEqual({ status: "failed", available_at: null });
    const dead = await givenClaimed(jobs, { max_attempts: 1 });
    await clock.advance(60_000);
    await jobs.maintain();
    const retired = ok(await jobs.observer.inspect({ job_id: dead.job_id }));
    expect(retired).toMatchObject({ status: "failed", last_failure_code: "attempts_exhausted" });
    expect(problem(await jobs.worker.claim({ queue: "other" }))).toBe("no_job_available");
    expect(await expectEachJobInOnePlace(sql)).toBe(3);
  });
});
