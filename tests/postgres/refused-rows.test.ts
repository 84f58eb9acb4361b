import { describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import { askAgain } from "../faults/support/ask-again.ts";
import { givenClaimed, leaseOf, newJob, ok, problem, rowOf } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, type JobsHost, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "./support/observe.ts";

type Lease = ReturnType<typeof leaseOf>;

/** Leases of which the database takes no write of the first into the table. */
async function givenRefused(sql: SQL, jobs: JobsHost, table: string, event: string): Promise<Lease[]> {
  const leases = [];
  for (let made = 0; made < 7; made += 1) leases.push(leaseOf(await givenClaimed(jobs)));
  const refused = rowOf(leases[0]?.job_id as string);
  await sql
    .unsafe(`create function jobs.refuse() returns trigger language plpgsql as $$
      begin
        if new.id = ${refused} then raise exception 'not this one' using errcode = '23514'; end if;
        return new;
      end $$;
      create trigger refuse before ${event} on jobs.${table} for each row execute function jobs.refuse();`)
    .simple();
  return leases;
}

const one = ["runtime:plugin_failure", ...Array<string>(6).fill("ok")];

describe.each(drivers)("over the driver %s", (driver) => {
  test("a job whose end the database refuses fails neither its neighbours nor the claims beside them", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 1);
    await using jobs = await startJobs({ url, driver });
    const leases = await givenRefused(sql, jobs, "outcome", "insert");
    for (let left = 0; left < 2; left += 1) ok(await jobs.producer.enqueue(newJob()));
    const answers = await Promise.all([
      ...leases.map((lease) => jobs.worker.complete(lease)),
      jobs.worker.claim({ queue: "mail" }),
      jobs.worker.claim({ queue: "mail" }),
    ]);
    expect(answers.map(problem)).toEqual([...one, "ok", "ok"]);
    // The same without claims: nothing of it was done before, and the neighbours' answers can be had again.
    expect((await Promise.all(leases.map((lease) => jobs.worker.complete(lease)))).map(problem)).toEqual(one);
    await sql`drop trigger refuse on jobs.outcome`;
    ok(await jobs.worker.complete(leases[0] as Lease));
    await expectEachJobInOnePlace(sql);
  });

  test("a lease that the database does not let renew or fail keeps none of its neighbours from it", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 1);
    await using jobs = await startJobs({ url, driver });
    const leases = await givenRefused(sql, jobs, "lease", "update");
    expect((await Promise.all(leases.map((lease) => jobs.worker.renew(lease)))).map(problem)).toEqual(one);
    await sql
      .unsafe(`drop trigger refuse on jobs.lease;
        create trigger refuse before insert on jobs.outcome for each row execute function jobs.refuse();`)
      .simple();
    const failed = await Promise.all(
      leases.map((lease) => jobs.worker.fail({ ...lease, failure_code: "broken", retryable: false })),
    );
    expect(failed.map(problem)).toEqual(one);
    await expectEachJobInOnePlace(sql);
  });

  test("ends that wait for a lock on what only they write hold up no later claim", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    await using jobs = await startJobs({ url, driver });
    const leases = [];
    for (let made = 0; made < 6; made += 1) leases.push(leaseOf(await givenClaimed(jobs)));
    for (const _ of leases) ok(await jobs.producer.enqueue(newJob()));
    const ended: Promise<unknown>[] = [];
    await using blocker = await sql.reserve();
    await blocker.unsafe("begin");
    await blocker.unsafe("lock table jobs.outcome in share mode"); // as an index that is made takes
    for (const lease of leases) {
      const complete = () => askAgain(() => jobs.worker.complete(lease));
      const claimed = jobs.worker.claim({ queue: "mail" });
      ended.push(complete().then(ok));
      expect(problem(await claimed)).toBe("ok");
    }
    await blocker.unsafe("rollback");
    expect(await Promise.all(ended)).toEqual(leases.map(() => ({ completed: true })));
    await expectEachJobInOnePlace(sql);
  }, 30_000);
});
