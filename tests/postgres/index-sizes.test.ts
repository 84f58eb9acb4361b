import { expect, test } from "bun:test";
import { testServer } from "../support/test-server.ts";
import { leaseOf, newJob, ok } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { startJobs } from "./support/jobs-host.ts";
import { observer } from "./support/observe.ts";

await testServer();

test("the indexes of the tables that jobs pass through do not grow with the jobs that have passed", async () => {
  const { url } = await jobsDatabase();
  await using sql = observer(url);
  await using jobs = await startJobs({ url });
  const pass = async (count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, async () => ok(await jobs.producer.enqueue(newJob()))));
    await Promise.all(
      Array.from({ length: count }, async () => {
        const claimed = ok(await jobs.worker.claim({ queue: "mail" }));
        ok(await jobs.worker.renew(leaseOf(claimed)));
        ok(await jobs.worker.complete(leaseOf(claimed)));
      }),
    );
    // Autovacuum's work, which an idle test server may put off for a minute.
    await sql.unsafe("vacuum jobs.ready");
    await sql.unsafe("vacuum jobs.lease");
  };
  const bytes = async (): Promise<number> => {
    const [row] = await sql`
      select (pg_indexes_size('jobs.ready') + pg_indexes_size('jobs.lease'))::int as bytes`;
    return row.bytes;
  };
  // A snapshot that another session holds for a moment keeps one vacuum from freeing pages, and the indexes take some more, once.
  // Indexes that keep what has passed grow in every round instead.
  const sizes: number[] = [];
  const hasSettled = (): boolean => sizes.length > 5 && sizes.at(-1) === sizes.at(-6);
  while (!hasSettled() && sizes.length < 30) {
    await pass(500);
    sizes.push(await bytes());
  }
  expect({ settled: hasSettled(), sizes }).toEqual({ settled: true, sizes });
}, 120_000);
