import { expect, test } from "bun:test";
import { testServer } from "../support/test-server.ts";
import { detail, newJob, ok, problem } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, startJobs } from "./support/jobs-host.ts";
import { observer } from "./support/observe.ts";

await testServer();

test.each(drivers)(
  "an index that somebody dropped makes a call unavailable and names the check, over the driver %s",
  async (driver) => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 1);
    await using jobs = await startJobs({ url, driver });
    ok(await jobs.producer.enqueue(newJob()));
    await sql`drop index jobs.jobs_key`;
    const refused = await jobs.producer.enqueue(newJob());
    expect(problem(refused)).toBe("runtime:unavailable");
    expect(detail(refused)).toContain("run lenso-jobs check");
    await sql`create unique index jobs_key on jobs.jobs (producer, idempotency_key)`;
    ok(await jobs.producer.enqueue(newJob()));
  },
);
