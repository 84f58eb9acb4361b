import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import type { CallResult } from "../../capability/index.ts";
import { maxWaitingCalls } from "../../plugin/store/coalescer.ts";
import { givenClaimed, leaseOf, newJob, ok, problem } from "../postgres/support/jobs.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { drivers, type JobsHost, startJobs } from "../postgres/support/jobs-host.ts";
import { expectEachJobInOnePlace, observer, until } from "../postgres/support/observe.ts";
import { testServer } from "../support/test-server.ts";
import { askAgain } from "./support/ask-again.ts";
import { startLoad } from "./support/load.ts";
import { type Proxy, startProxy } from "./support/proxy.ts";

await testServer();
const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => {
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

interface Linked extends AsyncDisposable {
  readonly jobs: JobsHost;
  readonly proxy: Proxy;
  readonly sql: SQL;
}

/** A host behind a proxy that forwards, warmed up, and a connection past it. */
async function linked(driver: (typeof drivers)[number]): Promise<Linked> {
  const { url } = await jobsDatabase();
  const sql = observer(url, 2);
  const proxy = await startProxy(url);
  const jobs = await startJobs({ url: proxy.url, driver, stopTimeoutMs: 2000 });
  return {
    jobs,
    proxy,
    sql,
    async [Symbol.asyncDispose]() {
      proxy.mode = "forward";
      await jobs.stop();
      await proxy.close();
      await expectEachJobInOnePlace(sql);
      await sql.close();
    },
  };
}

/** Sends a call whose answer is lost on the way, and cuts the link once the server has answered. */
async function loseReply<T>(
  { proxy }: Linked,
  call: () => Promise<T>,
  committed: () => Promise<boolean>,
): Promise<T> {
  proxy.mode = "dropReplies";
  const answer = call();
  await until("the server to have done it", committed);
  proxy.cut();
  proxy.mode = "forward";
  return answer;
}

describe.each(drivers)("over the driver %s", (driver) => {
  test("an enqueue whose answer was lost is unavailable, and asked again it finds its job", async () => {
    await using link = await linked(driver);
    const { jobs, sql } = link;
    await givenClaimed(jobs);
    const request = newJob();
    const lost = await loseReply(
      link,
      () => jobs.producer.enqueue(request),
      async () => {
        const [row] =
          await sql`select count(*)::int as stored from jobs.jobs where idempotency_key = ${request.idempotency_key}`;
        return row.stored === 1;
      },
    );
    expect(problem(lost)).toBe("runtime:unavailable");
    expect(ok(await askAgain(() => jobs.producer.enqueue(request))).created).toBe(false);
  });

  test("a completion and a failure whose answers were lost are repeated with the same answer", async () => {
    await using link = await linked(driver);
    const { jobs, sql } = link;
    const settled = async (count: number) => {
      const [row] = await sql`select count(*)::int as settled from jobs.lease`;
      return row.settled === count;
    };
    const first = leaseOf(await givenClaimed(jobs));
    const lost = await loseReply(
      link,
      () => jobs.worker.complete(first),
      () => settled(0),
    );
    expect(problem(lost)).toBe("runtime:unavailable");
    expect(ok(await askAgain(() => jobs.worker.complete(first)))).toEqual({ completed: true });

    const second = {
      ...leaseOf(
        ok(await askAgain(() => givenClaimed(jobs).then((value) => ({ ok: true, value }) as const))),
      ),
      failure_code: "smtp",
      retryable: true,
    };
    const lostFailure = await loseReply(
      link,
      () => jobs.worker.fail(second),
      () => settled(0),
    );
    expect(problem(lostFailure)).toBe("runtime:unavailable");
    const again = ok(await askAgain(() => jobs.worker.fail(second)));
    expect(again.status).toBe("queued");
    expect(ok(await jobs.worker.fail(second))).toEqual(again);
  });

  test("a claim whose answer was lost costs an attempt and no more", async () => {
    await using link = await linked(driver);
    const { jobs, sql } = link;
    ok(await jobs.worker.complete(leaseOf(await givenClaimed(jobs))));
    const { job_id } = ok(await jobs.producer.enqueue(newJob()));
    const lost = await loseReply(
      link,
      () => jobs.worker.claim({ queue: "mail" }),
      async () => {
        const [row] = await sql`select count(*)::int as leased from jobs.lease`;
        return row.leased === 1;
      },
    );
    expect(problem(lost)).toBe("runtime:unavailable");
    await sql`update lenso_test_clock.setting set ahead = ahead + interval '31 seconds'`;
    const again = ok(await askAgain(() => jobs.worker.claim({ queue: "mail" })));
    expect(again).toMatchObject({ job_id, attempt: 2 });
    ok(await jobs.worker.complete(leaseOf(again)));
  });

  test("links that are cut and refused under load lose no job and finish none twice", async () => {
    await using link = await linked(driver);
    const { jobs, proxy, sql } = link;
    const load = startLoad(jobs);
    for (let round = 0; round < 6; round += 1) {
      const before = load.completed.size;
      await until("work between two cuts", async () => load.completed.size > before + 20);
      const { lostResults, refused } = proxy;
      const told = load.answers.get("runtime:unavailable") ?? 0;
      proxy.mode = round % 2 ? "refuse" : "dropReplies";
      // Between two turns nothing is under way; a statement that leaves after the cut would wait for its own limit.
      if (proxy.mode === "dropReplies")
        await until("an answer to be lost", async () => proxy.lostResults > lostResults);
      proxy.cut();
      // A call may wait for the client's next try to connect, instead of being told.
      await until("the cut to be felt", async () => {
        return proxy.refused > refused || (load.answers.get("runtime:unavailable") ?? 0) > told;
      });
      proxy.mode = "forward";
      proxy.cut();
    }
    await load.stop();
    expect(await expectEachJobInOnePlace(sql)).toBe(load.accepted.size);
    const [row] = await sql`select count(*)::int as done from jobs.outcome where state = 's'`;
    expect(row.done).toBe(load.completed.size);
  }, 60_000);

  test("a link that stalls ends each call in its limit, a caller's own deadline sooner, and later calls work", async () => {
    await using link = await linked(driver);
    const { jobs, proxy } = link;
    await givenClaimed(jobs);
    proxy.mode = "stall";
    const startedAt = performance.now();
    const own = jobs.producer.enqueue(newJob(), { timeoutMs: 200 });
    const calls: Promise<CallResult<unknown, string>>[] = [
      jobs.producer.enqueue(newJob()),
      jobs.worker.claim({ queue: "mail" }),
    ];
    expect(problem(await own)).toBe("runtime:deadline_exceeded");
    expect(performance.now() - startedAt).toBeLessThan(2000);
    for (const call of calls) expect(problem(await call)).toBe("runtime:unavailable");
    expect(performance.now() - startedAt).toBeWithin(19_000, 24_000);
    proxy.mode = "forward"; // the old connections are dead to us already: what works now is new
    ok(await askAgain(() => jobs.producer.enqueue(newJob())));
    expect(proxy.connections).toBeGreaterThan(0);
  }, 60_000);
});

test("more waiting calls than the bound are told resource_exhausted at once, and the others are answered", async () => {
  await using link = await linked("bun");
  const { jobs, proxy } = link;
  ok(await jobs.producer.enqueue(newJob()));
  proxy.mode = "stall";
  const request = { job_id: `job_${"A".repeat(24)}` };
  const calls = Array.from({ length: maxWaitingCalls + 3000 }, () => jobs.observer.inspect(request));
  const results: Record<string, number> = {};
  for (const call of calls)
    void call.then((result) => (results[problem(result)] = (results[problem(result)] ?? 0) + 1));
  await until("the refusals", async () => (results["runtime:resource_exhausted"] ?? 0) > 0);
  expect(Object.keys(results)).toEqual(["runtime:resource_exhausted"]);
  expect(results["runtime:resource_exhausted"]).toBeLessThanOrEqual(3000);
  proxy.cut();
  proxy.mode = "forward";
  await Promise.all(calls);
  expect(Object.values(results).reduce((sum, each) => sum + each)).toBe(calls.length);
  expect(results.job_not_found).toBeGreaterThan(90_000);
}, 60_000);
