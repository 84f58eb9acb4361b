import { describe, expect, test } from "bun:test";
import { databaseClock } from "../../host-fixtures/index.ts";
import { testServer } from "../support/test-server.ts";
import { leaseOf, newJob, ok, problem, rowOf } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "./support/observe.ts";

await testServer();

const maxPayloadBytes = 262_144;
/** `{"text":"…"}` of just so many bytes; `filler` may take several. */
function payloadOf(bytes: number, filler = "x"): { text: string } {
  const room = bytes - Buffer.byteLength('{"text":""}');
  const width = Buffer.byteLength(filler);
  return { text: filler.repeat(Math.floor(room / width)) + "x".repeat(room % width) };
}

describe.each(drivers)("over the driver %s", (driver) => {
  test.each([
    ["2^31", 2n ** 31n - 3n],
    ["2^53", 2n ** 53n - 3n],
    ["2^62", 2n ** 62n - 3n],
  ])("ids that pass %s go through every operation as they are", async (_, start) => {
    const { url } = await jobsDatabase();
    await using clock = databaseClock(url);
    await using sql = observer(url);
    await sql.unsafe(`alter table jobs.jobs alter column id restart with ${start}`);
    await using jobs = await startJobs({ url, driver });
    const seen = new Set<string>();
    for (let round = 0; round < 10; round += 1) {
      const request = newJob();
      const { job_id } = ok(await jobs.producer.enqueue(request));
      expect(BigInt(rowOf(job_id)) >= start + BigInt(round)).toBe(true);
      expect(ok(await jobs.producer.enqueue(request)).job_id).toBe(job_id);
      const first = ok(await jobs.worker.claim({ queue: "mail" }));
      expect(first.job_id).toBe(job_id);
      ok(await jobs.worker.renew(leaseOf(first)));
      ok(await jobs.worker.fail({ ...leaseOf(first), failure_code: "smtp", retryable: true }));
      await clock.advance(60_000);
      const second = ok(await jobs.worker.claim({ queue: "mail" }));
      await clock.advance(60_000);
      await jobs.maintain();
      const third = ok(await jobs.worker.claim({ queue: "mail" }));
      expect([second.job_id, third.job_id]).toEqual([job_id, job_id]);
      ok(await jobs.worker.complete(leaseOf(third)));
      expect(ok(await jobs.observer.inspect({ job_id })).status).toBe("succeeded");
      seen.add(job_id);
    }
    expect(seen.size).toBe(10);
    expect(await expectEachJobInOnePlace(sql)).toBe(10);
  });

  test.each([["x"], ["é"], ["\u{1f600}"], ['"'], ["\\"]])(
    "a payload of just the limit, made of %j, comes back as it was, and one byte more is refused",
    async (filler) => {
      const { url } = await jobsDatabase();
      await using jobs = await startJobs({ url, driver });
      const escaped = JSON.stringify(filler).slice(1, -1);
      const width = Buffer.byteLength(escaped);
      const room = maxPayloadBytes - Buffer.byteLength('{"text":""}');
      const text = filler.repeat(Math.floor(room / width)) + "x".repeat(room % width);
      expect(Buffer.byteLength(JSON.stringify({ text }))).toBe(maxPayloadBytes);
      ok(await jobs.producer.enqueue(newJob({ payload: { text } })));
      expect(problem(await jobs.producer.enqueue(newJob({ payload: { text: `${text}x` } })))).toBe(
        "invalid_job",
      );
      const claimed = ok(await jobs.worker.claim({ queue: "mail" }));
      expect((claimed.payload as { text: string }).text === text).toBe(true);
    },
  );

  test("hundreds of payloads of 250 KB at once are stored and claimed in bounded memory", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url);
    await using jobs = await startJobs({ url, driver });
    const payload = payloadOf(250_000);
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    let peak = before;
    const sampler = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 5);
    const stored = await Promise.all(
      Array.from({ length: 200 }, () => jobs.producer.enqueue(newJob({ payload }))),
    );
    expect(stored.every((result) => result.ok)).toBe(true);
    let claimed = 0;
    for (let round = 0; round < 2; round += 1) {
      const batch = await Promise.all(Array.from({ length: 50 }, () => jobs.worker.claim({ queue: "mail" })));
      claimed += batch.filter((result) => result.ok).length;
      await Promise.all(batch.map((result) => jobs.worker.complete(leaseOf(ok(result)))));
    }
    clearInterval(sampler);
    expect(claimed).toBe(100);
    expect(await expectEachJobInOnePlace(sql)).toBe(200);
    expect((peak - before) / 2 ** 20).toBeLessThan(500);
  }, 60_000);
});

describe.each(drivers)("large payloads over the driver %s", (driver) => {
  test("are claimed in statements of at most 8 MiB, and no lease has expired when its answer arrives", async () => {
    const { url } = await jobsDatabase();
    await using clock = databaseClock(url);
    await using sql = observer(url);
    await using jobs = await startJobs({ url, driver, configuration: { lease_seconds: 3 } });
    const payload = payloadOf(250_000);
    await Promise.all(
      Array.from({ length: 200 }, async () => ok(await jobs.producer.enqueue(newJob({ payload })))),
    );
    const claims = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const { job_id, lease_expires_at } = ok(await jobs.worker.claim({ queue: "mail" }));
        return { job_id, lease_expires_at, arrived: await clock.now() };
      }),
    );
    expect(new Set(claims.map(({ job_id }) => job_id)).size).toBe(200);
    expect(claims.filter(({ lease_expires_at, arrived }) => lease_expires_at <= arrived)).toEqual([]);
    // One statement is one transaction.
    const statements = await sql`
      select count(*)::int as jobs, sum(bytes)::int as bytes, max(attempt)::int as attempts from jobs.lease group by xmin::text`;
    const largest = Math.max(...statements.map(({ bytes }: { bytes: number }) => bytes));
    expect(largest).toBeLessThanOrEqual(8 * 2 ** 20);
    expect(statements.reduce((sum: number, each: { jobs: number }) => sum + each.jobs, 0)).toBe(200);
    expect(statements.every(({ attempts }: { attempts: number }) => attempts === 1)).toBe(true);
  }, 60_000);
});

test("ten thousand callers at once each get their own answer, and every job is in one place", async () => {
  const { url } = await jobsDatabase();
  await using sql = observer(url);
  await using jobs = await startJobs({ url });
  const count = 10_000;
  const stored = await Promise.all(Array.from({ length: count }, () => jobs.producer.enqueue(newJob())));
  const ids = new Set(stored.map((result) => ok(result).job_id));
  expect(ids.size).toBe(count);
  const claims = await Promise.all(
    Array.from({ length: count + 100 }, (_, index) =>
      (index % 2 ? jobs.worker : jobs.otherWorker).claim({ queue: "mail" }),
    ),
  );
  const leased = claims.flatMap((claim, index) => (claim.ok ? [{ index, lease: leaseOf(claim.value) }] : []));
  expect(new Set(leased.map(({ lease }) => lease.job_id)).size).toBe(count);
  expect(claims.filter((claim) => problem(claim) === "no_job_available")).toHaveLength(100);
  const done = await Promise.all(
    leased.map(({ index, lease }) => (index % 2 ? jobs.worker : jobs.otherWorker).complete(lease)),
  );
  expect(done.filter((result) => result.ok)).toHaveLength(count);
  expect(await expectEachJobInOnePlace(sql)).toBe(count);
}, 60_000);
