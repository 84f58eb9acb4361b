import { expect, test } from "bun:test";
import * as v from "valibot";
import type { JobsClient } from "../../capability/index.ts";
import { createJobsWorker, defineJobKind, handleKind } from "../../tasks/index.ts";
import { newJob, ok } from "../postgres/support/jobs.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { drivers, startJobs } from "../postgres/support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "../postgres/support/observe.ts";
import { testServer } from "../support/test-server.ts";

await testServer();

const kind = defineJobKind({ kind: newJob().kind, payload: v.looseObject({}) });
const stops = 5;

test.each(drivers)(
  "over the driver %s a stop in the middle of a backlog costs no attempt",
  async (driver) => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 1);
    await using jobs = await startJobs({ url, driver });
    const backlog = 50 * stops;
    await Promise.all(Array.from({ length: backlog }, async () => ok(await jobs.producer.enqueue(newJob()))));
    for (let count = 0; count < stops; count += 1) {
      let handled = 0;
      const claimsUnderWay = Promise.withResolvers<void>();
      const watched: JobsClient = {
        ...jobs.worker,
        claim(...call) {
          const claiming = jobs.worker.claim(...call);
          if (handled >= 20) claimsUnderWay.resolve();
          return claiming;
        },
      };
      const worker = createJobsWorker({
        jobs: watched,
        queue: "mail",
        leaseSeconds: 30,
        concurrency: 8,
        handlers: [
          handleKind(kind, () => {
            handled += 1;
          }),
        ],
      });
      await claimsUnderWay.promise;
      await worker.stop();
    }
    await jobs.stop(); // and with it the undoing of claims whose worker had left
    const [row] = await sql`select
    (select count(*)::int from jobs.ready where attempt > 0) as costs,
    (select count(*)::int from jobs.lease) as held,
    (select count(*)::int from jobs.outcome where attempt > 1) as again`;
    expect(row).toEqual({ costs: 0, held: 0, again: 0 });
    expect(await expectEachJobInOnePlace(sql)).toBe(backlog);
  },
);
