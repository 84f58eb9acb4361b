import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SQL } from "bun";
import { askAgain } from "../faults/support/ask-again.ts";
import { type Load, startLoad } from "../faults/support/load.ts";
import { detail, givenClaimed, leaseOf, newJob, ok, problem, rowOf } from "../postgres/support/jobs.ts";
import { type JobsHost, startJobs } from "../postgres/support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "../postgres/support/observe.ts";
import { codeBlocks } from "../support/code-blocks.ts";
import { root } from "../support/repository-files.ts";
import { eventually } from "../task-faults/support/eventually.ts";
import { refusalOf } from "./support/refusal-of.ts";
import { queues, startPair } from "./support/start-pair.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => {
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

const advance = (sql: SQL, seconds: number): Promise<unknown> =>
  sql.unsafe(`update lenso_test_clock.setting set ahead = ahead + interval '${seconds} seconds'`);

/** The SQL of the page's section on failovers, in its order. */
function documentedCommands(): string[] {
  const page = readFileSync(join(root, "docs/recover.md"), "utf8");
  return codeBlocks(page.slice(page.indexOf("## Failover")), "sql").map(({ code }) => code);
}

/** Claims and completes what is left. Answers the ids. */
async function drain({ worker }: JobsHost): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const claimed = await worker.claim({ queue: "mail" });
    if (!claimed.ok) return ids;
    ok(await worker.complete(leaseOf(claimed.value)));
    ids.push(claimed.value.job_id);
  }
}

test("a synchronous standby that takes over under load has every accepted job, and each ends once", async () => {
  await using pair = await startPair();
  await pair.synchronize();
  const before = await Promise.all(
    pair.services.map(async ({ jobs }) => {
      const held = [];
      for (const queue of ["other", "third", "fourth"]) held.push(await givenClaimed(jobs, { queue }));
      const load = startLoad(jobs, 4, 4);
      await eventually("work before the failover", async () => load.completed.size > 30);
      return { held: held.map(leaseOf), load };
    }),
  );
  await pair.failOver();

  for (const [index, { driver, url, jobs }] of pair.services.entries()) {
    const { held, load } = before[index] as { held: ReturnType<typeof leaseOf>[]; load: Load };
    const [completed, renewed, expired] = held as [(typeof held)[0], (typeof held)[0], (typeof held)[0]];
    await using sql = observer(pair.standby.at(url), 1);
    const soFar = load.completed.size;
    await eventually(`work after the failover over ${driver}`, async () => load.completed.size > soFar + 30);
    await load.stop();
    // Whether a call is refused while nobody answers, or waits for the client's next try, is a matter of the moment.
    expect(
      [...load.answers.keys()].filter((kind) => !/^ok$|^no_job|^invalid_lease$|:unavailable$/.test(kind)),
    ).toEqual([]);

    // Leases from before are leases here.
    ok(await jobs.worker.complete(completed));
    ok(await jobs.worker.renew(renewed));
    ok(await jobs.worker.complete(renewed));
    await advance(sql, 31);
    expect(problem(await jobs.worker.complete(expired))).toBe("invalid_lease");
    const again = ok(await jobs.worker.claim({ queue: "fourth" }));
    expect(again).toMatchObject({ job_id: expired.job_id, attempt: 2 });
    ok(await jobs.worker.complete(leaseOf(again)));

    const late = await drain(jobs);
    expect(late.filter((id) => load.completed.has(id))).toEqual([]);
    expect(await expectEachJobInOnePlace(sql)).toBe(load.accepted.size + held.length);
    const seen = await Promise.all([...load.accepted].map((job_id) => jobs.observer.inspect({ job_id })));
    expect(seen.filter((each) => ok(each).status !== "succeeded")).toEqual([]);
  }
}, 60_000);

test("an asynchronous standby that takes over lacks what it had not received, and nothing is there twice", async () => {
  await using pair = await startPair();
  const before = await Promise.all(
    pair.services.map(async ({ jobs }) => ({
      settledLate: leaseOf(await givenClaimed(jobs, { queue: "mail" })),
      claimedLate: ok(await jobs.producer.enqueue(newJob({ queue: "third" }))).job_id,
      doneLate: ok(await jobs.producer.enqueue(newJob({ queue: "fourth" }))).job_id,
    })),
  );
  await pair.standby.caughtUp();
  await pair.standby.cutOff();
  // All of this is answered, and lost.
  const lost = await Promise.all(
    pair.services.map(async ({ jobs }, index) => {
      // More than the 32 numbers that a sequence is ahead in the log, so that some will be given out again.
      const requests = Array.from({ length: 50 }, () => newJob({ queue: "other" }));
      const ids = [];
      for (const request of requests) ids.push(ok(await jobs.producer.enqueue(request)).job_id);
      ok(await jobs.worker.complete((before[index] as (typeof before)[0]).settledLate));
      const claimed = leaseOf(ok(await jobs.worker.claim({ queue: "third" })));
      const done = leaseOf(ok(await jobs.worker.claim({ queue: "fourth" })));
      ok(await jobs.worker.complete(done));
      return { requests, ids, claimed, done };
    }),
  );
  await pair.failOver();

  for (const [index, { url, jobs }] of pair.services.entries()) {
    const { settledLate, claimedLate, doneLate } = before[index] as (typeof before)[0];
    const { requests, ids, claimed, done } = lost[index] as (typeof lost)[0];
    await using sql = observer(pair.standby.at(url), 1);

    // An accepted job is gone; its key makes a new one, under another id, although rows have the same numbers.
    const gone = await askAgain(() => jobs.observer.inspect({ job_id: ids[0] as string }));
    expect(problem(gone)).toBe("job_not_found");
    const anew = [];
    for (const request of requests) anew.push(ok(await askAgain(() => jobs.producer.enqueue(request))));
    expect(anew.every(({ created }) => created)).toBe(true);
    const rows = new Set(anew.map(({ job_id }) => rowOf(job_id)));
    expect(ids.filter((id) => rows.has(rowOf(id))).length).toBeGreaterThan(0);
    for (const job_id of ids) expect(problem(await jobs.observer.inspect({ job_id }))).toBe("job_not_found");
    expect(ok(await jobs.producer.enqueue(requests[0] as (typeof requests)[0]))).toEqual({
      job_id: anew[0]?.job_id as string,
      created: false,
    });

    // A settlement that is gone can be repeated under its lease.
    expect(ok(await jobs.observer.inspect({ job_id: settledLate.job_id })).status).toBe("running");
    expect(ok(await jobs.worker.complete(settledLate))).toEqual({ completed: true });

    // A lease that is gone was never given: its token opens nothing, the job is claimed as if for the first time.
    for (const [lease, job_id, queue] of [
      [claimed, claimedLate, "third"],
      [done, doneLate, "fourth"],
    ] as const) {
      expect(lease.job_id).toBe(job_id);
      const refusals = [
        await jobs.worker.renew(lease),
        await jobs.worker.complete(lease),
        await jobs.worker.fail({ ...lease, failure_code: "late", retryable: true }),
      ];
      expect(refusals.map(problem)).toEqual(["invalid_lease", "invalid_lease", "invalid_lease"]);
      const again = ok(await jobs.worker.claim({ queue }));
      expect(again).toMatchObject({ job_id, attempt: 1 });
      expect(problem(await jobs.worker.complete(lease))).toBe("invalid_lease");
      ok(await jobs.worker.complete(leaseOf(again)));
      expect(problem(await jobs.worker.claim({ queue }))).toBe("no_job_available");
    }
    expect(await expectEachJobInOnePlace(sql)).toBe(3 + requests.length);
    const [{ ended }] = await sql`select count(*)::int as ended from jobs.outcome`;
    expect(ended).toBe(3);
  }
}, 60_000);

test("a standby takes no host and no write until it is promoted, and an old primary that waits for it answers no more", async () => {
  await using pair = await startPair();
  const { standby, services } = pair;
  await pair.synchronize();
  const shared = await Promise.all(services.map(async ({ jobs }) => leaseOf(await givenClaimed(jobs))));
  await standby.caughtUp();
  const [lag = "", letGo = ""] = documentedCommands();
  await using operator = observer(pair.primaryUrl, 1);
  const [seen] = await operator.unsafe(lag);
  expect(seen).toMatchObject({ application_name: standby.name, sync_state: "sync" });
  expect(Number(seen.bytes_behind)).toBeGreaterThanOrEqual(0);

  for (const { driver, url, proxy, jobs } of services) {
    const refusal = await refusalOf(() => startJobs({ url: standby.at(url), driver }));
    expect(refusal).toStartWith("unavailable: ");
    expect(refusal).toContain("the server is a standby, which takes no writes: name the primary");
    // The address leads to it too early.
    proxy.pointAt(standby.at(url));
    proxy.cut();
    await eventually("a refusal for reading only", async () => {
      const result = await jobs.producer.enqueue(newJob());
      if (!result.ok) expect(problem(result)).toBe("runtime:unavailable");
      return detail(result).includes("read-only");
    });
  }
  // Somebody still reaches the old primary.
  const stale = await Promise.all(
    services.map(({ url, driver }) =>
      startJobs({ url, driver, configuration: { queues }, stopTimeoutMs: 1000 }),
    ),
  );
  await standby.promote();
  const requests = services.map(() => newJob({ queue: "other" }));
  for (const [index, { url, jobs }] of services.entries()) {
    const request = requests[index] as (typeof requests)[0];
    ok(await askAgain(() => jobs.producer.enqueue(newJob())));
    const there = stale[index] as JobsHost;
    expect(problem(await there.producer.enqueue(request, { timeoutMs: 500 }))).toBe(
      "runtime:deadline_exceeded",
    );
    await using sql = observer(url, 1);
    expect(await sql`select from jobs.jobs where idempotency_key = ${request.idempotency_key}`).toHaveLength(
      0,
    );
  }

  // Whoever lets the old primary go on alone has two truths: each keeps its promises by itself.
  for (const command of letGo.split("\n").filter(Boolean)) await operator.unsafe(command);
  for (const [index, { jobs }] of services.entries()) {
    const there = stale[index] as JobsHost;
    const request = requests[index] as (typeof requests)[0];
    const lease = shared[index] as (typeof shared)[0];
    const old = ok(await askAgain(() => there.producer.enqueue(request)));
    const moved = ok(await jobs.producer.enqueue(request));
    expect(moved.created).toBe(true);
    expect(moved.job_id).not.toBe(old.job_id);
    ok(await askAgain(() => there.worker.complete(lease)));
    ok(await jobs.worker.complete(lease));
    await there.stop();
  }
}, 60_000);
