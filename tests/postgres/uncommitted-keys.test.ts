import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import type { EnqueueRequest } from "../../capability/index.ts";
import { testServer } from "../support/test-server.ts";
import { newJob, ok, problem, rowOf } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, type JobsHost, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer, until, untilLocksWaitedFor, watch } from "./support/observe.ts";

await testServer();

describe.each(drivers)("over the driver %s", (driver) => {
  let sql: SQL;
  let jobs: JobsHost;
  beforeAll(async () => {
    const { url } = await jobsDatabase();
    sql = observer(url, 6);
    jobs = await startJobs({ url, driver });
  });
  afterAll(async () => {
    await jobs.stop();
    await expectEachJobInOnePlace(sql);
    await sql.close();
  });

  test.each([
    ["the same intent answers with the other's job once it commits", {}, "commit", "existing"],
    ["another intent conflicts once the other commits", { payload: { other: true } }, "commit", "conflict"],
    ["the same intent creates a job once the other rolls back", {}, "rollback", "created"],
    [
      "another intent creates a job once the other rolls back",
      { payload: { other: true } },
      "rollback",
      "created",
    ],
  ] as const)(
    "an enqueue that waits for an uncommitted one of its key: %s",
    async (_, changes, how, expected) => {
      const request = newJob();
      const other = await insertUncommitted({ sql, jobs }, request);
      const answer = watch(jobs.producer.enqueue({ ...request, ...changes }));
      await untilLocksWaitedFor(sql);
      expect(answer.open).toBe(true);
      await other.end(how);
      const result = await answer.promise;
      if (expected === "conflict") return expect(problem(result)).toBe("idempotency_conflict");
      const { job_id, created } = ok(result);
      expect(created).toBe(expected === "created");
      if (expected === "existing") expect(job_id).toBe(other.id);
      else expect(job_id).not.toBe(other.id);
    },
  );

  test("an enqueue that waits longer than its batch may, waits on alone and is answered after the commit", async () => {
    const request = newJob();
    const other = await insertUncommitted({ sql, jobs }, request);
    const answer = watch(jobs.producer.enqueue(request));
    await until("the hot statement's lock time-out and a second, longer wait", async () => {
      const [row] = await sql`
        select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and now() - query_start > interval '1.2 s'`;
      return row.waiting === 1;
    });
    expect(answer.open).toBe(true);
    await other.end("commit");
    expect(ok(await answer.promise)).toEqual({ job_id: other.id, created: false });
  });

  test("neighbours in the batch of an enqueue that waits are stored, and none fails", async () => {
    const request = newJob();
    const other = await insertUncommitted({ sql, jobs }, request);
    const neighbour = { kind: "neighbour" };
    const batch = [newJob(neighbour), request, newJob(neighbour), newJob(neighbour)].map((each) =>
      jobs.producer.enqueue(each),
    );
    await untilLocksWaitedFor(sql);
    await until("the first one's job", async () => {
      const [row] = await sql`select count(*)::int as stored from jobs.jobs where kind = 'neighbour'`;
      return row.stored > 0;
    });
    await other.end("rollback");
    expect((await Promise.all(batch)).map((result) => ok(result).created)).toEqual([true, true, true, true]);
  });

  test("five enqueues of an uncommitted key hold up no neighbour, and are answered together when its holder ends", async () => {
    const request = newJob();
    const other = await insertUncommitted({ sql, jobs }, request);
    const five = Array.from({ length: 5 }, () => watch(jobs.producer.enqueue(request)));
    const neighbour = jobs.producer.enqueue(newJob());
    await untilLocksWaitedFor(sql);
    expect(ok(await neighbour).created).toBe(true);
    expect(ok(await jobs.producer.enqueue(newJob())).created).toBe(true);
    expect(five.every((call) => call.open)).toBe(true);
    await until("the one wait that the five share", async () => {
      const [row] = await sql`
        select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return row.waiting === 1;
    });
    await other.end("commit");
    for (const { promise } of five) expect(ok(await promise)).toEqual({ job_id: other.id, created: false });
  });

  test("a key that others insert and roll back again and again is created once in the end", async () => {
    const request = newJob();
    const results = await Promise.all([
      ...Array.from({ length: 20 }, () => jobs.producer.enqueue(request)),
      ...Array.from({ length: 20 }, () => jobs.producer.enqueue({ ...request, payload: { b: 1 } })),
    ]);
    const outcomes = new Set(results.map((result) => (result.ok ? result.value.job_id : problem(result))));
    expect(outcomes.size).toBe(2);
    expect(outcomes.has("idempotency_conflict")).toBe(true);
    expect(results.filter((result) => result.ok && result.value.created)).toHaveLength(1);
  });
});

test("neighbours in the batch of an enqueue that waits are answered while it waits", async () => {
  const { url } = await jobsDatabase();
  await using sql = observer(url);
  await using jobs = await startJobs({ url });
  const request = newJob();
  const other = await insertUncommitted({ sql, jobs }, request);
  const contested = watch(jobs.producer.enqueue(request));
  const neighbours = [newJob(), newJob()].map((each) => jobs.producer.enqueue(each));
  await untilLocksWaitedFor(sql);
  const answered = Promise.all(neighbours).then((results) => results.map((result) => ok(result).created));
  const gaveUp = until("a neighbour's answer", async () => false, 2500).catch(() => "still waiting");
  const seen = await Promise.race([answered, gaveUp]);
  const contestedOpen = contested.open;
  await other.end("commit");
  await Promise.all([answered, contested.promise]);
  expect(seen).toEqual([true, true]);
  expect(contestedOpen).toBe(true);
});

/** The very rows of an accepted request, taken out and put back on a connection that has not committed yet. */
async function insertUncommitted(
  { sql, jobs }: { readonly sql: SQL; readonly jobs: JobsHost },
  request: EnqueueRequest,
): Promise<{ readonly id: string; end(how: string): Promise<void> }> {
  const { job_id } = ok(await jobs.producer.enqueue(request));
  const other = await sql.reserve();
  await other
    .unsafe(`
    create temp table if not exists saved_job as table jobs.jobs with no data;
    create temp table if not exists saved_ready as table jobs.ready with no data;
    truncate saved_job, saved_ready;
    insert into saved_job select * from jobs.jobs where id = ${rowOf(job_id)};
    insert into saved_ready select * from jobs.ready where id = ${rowOf(job_id)};
    delete from jobs.ready where id = ${rowOf(job_id)};
    delete from jobs.jobs where id = ${rowOf(job_id)};`)
    .simple();
  await other`begin`;
  await other`insert into jobs.jobs overriding system value table saved_job`;
  await other`insert into jobs.ready table saved_ready`;
  return {
    id: job_id,
    async end(how) {
      await other.unsafe(how);
      await other.release();
    },
  };
}
