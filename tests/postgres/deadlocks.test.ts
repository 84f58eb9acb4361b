import { describe, expect, test } from "bun:test";
import { seededRandom } from "../contract/support/given.ts";
import { testServer } from "../support/test-server.ts";
import { leaseOf, newJob, ok, problem } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "./support/observe.ts";

await testServer();

/** Jobs that several processes fight for, and how often they do. */
const [fought, rounds] = [100, 8];

describe.each(drivers)("over the driver %s", (driver) => {
  test("processes that settle, renew, enqueue and retire the same jobs in any order never deadlock", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url);
    const hosts = await Promise.all([1, 2, 3].map(() => startJobs({ url, driver })));
    const [first] = hosts as [(typeof hosts)[0], ...typeof hosts];
    const random = seededRandom(96);
    const anyOrder = <Item>(items: readonly Item[]): Item[] =>
      items
        .map((item) => ({ item, at: random(1_000_000) }))
        .sort((a, b) => a.at - b.at)
        .map(({ item }) => item);
    try {
      for (let round = 0; round < rounds; round += 1) {
        const requests = Array.from({ length: fought }, () => newJob());
        const enqueued = hosts.flatMap(({ producer }) =>
          anyOrder(requests).map((job) => producer.enqueue(job)),
        );
        for (const answer of await Promise.all(enqueued)) ok(answer);
        const leases = (
          await Promise.all(requests.map(async () => ok(await first.worker.claim({ queue: "mail" }))))
        ).map(leaseOf);
        const calls = hosts.flatMap(({ worker, maintain }, index) => [
          ...anyOrder(leases).map((lease) => worker.complete(lease)),
          ...anyOrder(leases).map((lease) => worker.renew(lease)),
          ...anyOrder(leases).map((lease) =>
            worker.fail({ ...lease, failure_code: "busy", retryable: index === 0 }),
          ),
          maintain(),
        ]);
        const told = (await Promise.all(calls)).map((answer) =>
          answer === undefined ? "ok" : problem(answer),
        );
        expect(told.filter((each) => each !== "ok" && each !== "invalid_lease")).toEqual([]);
      }
    } finally {
      // A session tells the server what it counted when it ends.
      await Promise.all(hosts.map((host) => host.stop()));
    }
    const [{ deadlocks }] = await sql`
      select deadlocks::int from pg_stat_database where datname = current_database()`;
    expect(deadlocks).toBe(0);
    expect(await expectEachJobInOnePlace(sql)).toBe(fought * rounds);
  }, 60_000);
});
