import { expect, test } from "bun:test";
import { testServer } from "../support/test-server.ts";
import { leaseOf, newJob, ok } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "./support/observe.ts";

await testServer();

test("ten thousand queues need no table of their own, and each gives its job", async () => {
  const { url } = await jobsDatabase();
  await using sql = observer(url);
  const queues = Array.from({ length: 10_000 }, (_, index) => `queue-${index}`);
  await using jobs = await startJobs({ url, configuration: { queues } });
  const relations = async () =>
    (await sql`select count(*)::int as n from pg_class where relnamespace = 'jobs'::regnamespace`)[0].n;
  const before = await relations();

  const made = await Promise.all(
    queues.map(async (queue) => ok(await jobs.producer.enqueue(newJob({ queue }))).job_id),
  );
  expect(ok(await jobs.signals.wait({ queues: queues.slice(-64), timeout_ms: 1000 })).queue).not.toBeNull();
  // Each claim is a statement of its own, so not of all of them: the test has no minute.
  const tenth = queues.filter((_, index) => index % 10 === 0);
  const claimed = await Promise.all(tenth.map(async (queue) => ok(await jobs.worker.claim({ queue }))));
  expect(claimed.map(({ job_id }) => job_id)).toEqual(made.filter((_, index) => index % 10 === 0));
  for (const lease of await Promise.all(claimed.map((each) => jobs.worker.complete(leaseOf(each)))))
    ok(lease);
  expect(await relations()).toBe(before);
  expect(await expectEachJobInOnePlace(sql)).toBe(10_000);
}, 60_000);
