import { describe, expect, test } from "bun:test";
import { addMilliseconds } from "../../host-fixtures/clock.ts";
import { backends, open, openPostgres, postgresBackends } from "./support/backends.ts";
import {
  at,
  claimOne,
  domain,
  givenJob,
  jobRequest,
  leaseOf,
  seededRandom,
  times,
  valueOf,
  valuesOf,
} from "./support/given.ts";

type Opened = Awaited<ReturnType<typeof open>>;

/** The ids in the order in which the queue gives them out, one claim after the other. */
async function claimAll(bundle: Opened, queue = "mail"): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const answer = await bundle.worker.claim({ queue });
    if (!answer.ok) return ids;
    ids.push(answer.value.job_id);
  }
}

describe.each(backends)("the order of claims, %s", (backend) => {
  test("is that of the next run times, whatever the order of enqueue", async () => {
    await using bundle = await open(backend);
    const random = seededRandom(1);
    const jobs: { id: string; seconds: number }[] = [];
    for (let each = 0; each < 60; each += 1) {
      const seconds = 1 + random(40) / 10;
      jobs.push({ id: (await givenJob(bundle, { available_at: at(seconds) })).job_id, seconds });
    }
    await bundle.clock.advance(10_000);
    const expected = jobs.toSorted((a, b) => a.seconds - b.seconds).map((job) => job.id);
    expect(await claimAll(bundle)).toEqual(expected);
  });

  test("is that of enqueue among equal run times, also for those asked for in the past", async () => {
    await using bundle = await open(backend);
    const ids: string[] = [];
    for (const seconds of [-10, -20, 0, -5, 0]) {
      ids.push((await givenJob(bundle, { available_at: at(seconds) })).job_id);
    }
    expect(await claimAll(bundle)).toEqual(ids);
  });

  test("puts a retried job where its next run belongs", async () => {
    await using bundle = await open(backend);
    const retried = await givenJob(bundle, { state: "retrying" });
    const before = await givenJob(bundle, { available_at: at(9.999999) });
    const after = await givenJob(bundle, { available_at: at(10.000001) });
    await bundle.clock.advance(11_000);
    expect(await claimAll(bundle)).toEqual([before.job_id, retried.job_id, after.job_id]);
  });

  test("puts an expired job that maintenance took back where its lease's expiry belongs", async () => {
    await using bundle = await open(backend);
    const expired = await givenJob(bundle, { state: "running" });
    const before = await givenJob(bundle, { available_at: at(29) });
    const after = await givenJob(bundle, { available_at: at(31) });
    await bundle.clock.advance(40_000);
    await bundle.maintain();
    expect(await claimAll(bundle)).toEqual([before.job_id, expired.job_id, after.job_id]);
  });

  test("a job enqueued and claimed at the same instant is due", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { available_at: at(0) });
    expect((await claimOne(bundle)).job_id).toBe(job_id);
  });

  test("a job of the future is due at its instant, not a microsecond before", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { available_at: at(1) });
    await bundle.clock.advance(999.999);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    await bundle.clock.advance(0.001);
    expect((await claimOne(bundle)).job_id).toBe(job_id);
  });

  test("200 jobs of the future hide no due one", async () => {
    await using bundle = await open(backend);
    await valuesOf(times(200, () => bundle.producer.enqueue(jobRequest({ available_at: at(3600) }))));
    const { job_id } = await givenJob(bundle);
    expect(await claimAll(bundle)).toEqual([job_id]);
  });

  test("a job that comes back before what was claimed last is claimed next", async () => {
    await using bundle = await open(backend, { retry_base_seconds: 1, retry_max_seconds: 1 });
    const early = await givenJob(bundle, { state: "retrying" });
    await givenJob(bundle, { available_at: at(50) });
    await bundle.clock.advance(60_000);
    const other = await givenJob(bundle, { available_at: at(59) });
    expect(await claimAll(bundle)).toEqual([early.job_id, expect.any(String), other.job_id]);
  });
});

describe.each(postgresBackends)("a job that becomes visible late, %s", (backend) => {
  test("is claimed at most 5 s after its turn, while other jobs keep every claim busy", async () => {
    await using bundle = await openPostgres(backend);
    await bundle.database.clock.thaw();
    const late = await givenJob(bundle);
    // Locked, it is skipped as one that is not committed yet: claims go past its turn meanwhile.
    const blocker = await bundle.database.block("select from ready for update");
    const working = new AbortController();
    let seen: (at: number) => void = () => {};
    const found = new Promise<number>((resolve) => {
      seen = resolve;
    });
    const load = async () => {
      while (!working.signal.aborted) {
        await valuesOf(times(4, () => bundle.producer.enqueue(jobRequest())));
        const claims = await Promise.all(times(2, () => bundle.worker.claim({ queue: "mail" })));
        for (const claim of claims) {
          if (!claim.ok) continue;
          if (claim.value.job_id === late.job_id) seen(performance.now());
          await valueOf(bundle.worker.complete(leaseOf(claim.value)));
        }
      }
    };
    const loads = times(3, load);
    try {
      const passed = async () =>
        (await bundle.database.query("select from outcome limit 100")).length === 100;
      while (!(await passed())) await Bun.sleep(10);
      const visibleAt = performance.now();
      await blocker.commit();
      expect((await found) - visibleAt).toBeLessThan(5500);
    } finally {
      working.abort();
      await blocker.commit();
      await Promise.all(loads);
    }
  });

  test("by the hand of another process is claimed as soon as nothing else is due", async () => {
    await using bundle = await openPostgres(backend);
    await using other = await bundle.another();
    const jobs = await Promise.all(times(20, () => givenJob(bundle)));
    await bundle.clock.advance(1000);
    const lease = leaseOf(await claimOne(other));
    expect(await claimAll(bundle)).toHaveLength(19);
    await givenJob(bundle);
    await claimOne(bundle);
    await valueOf(other.worker.fail({ ...lease, failure_code: "busy", retryable: true }));
    await bundle.clock.advance(10_000);
    expect(await claimAll(other)).toEqual([lease.job_id]);
    expect(jobs.map((job) => job.job_id)).toContain(lease.job_id);
  });

  test("is claimed when it was enqueued by another process with an earlier clock reading", async () => {
    await using bundle = await openPostgres(backend);
    await bundle.clock.advance(60_000);
    await givenJob(bundle);
    await claimOne(bundle);
    const { job_id } = await givenJob(bundle);
    const earlier = addMilliseconds(at(60), -30_000);
    await bundle.database.query(`
      update jobs set created_at = '${earlier}' where id = (select max(id) from jobs);
      update ready set next_run = '${earlier}', updated_at = '${earlier}'`);
    expect((await claimOne(bundle)).job_id).toBe(job_id);
  });
});
