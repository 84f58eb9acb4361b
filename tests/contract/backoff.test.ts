import { describe, expect, test } from "bun:test";
import { backends, open } from "./support/backends.ts";
import { at, claimOne, givenJob, inspectJob, leaseOf, valueOf } from "./support/given.ts";

const year10000 = "9999-12-31T23:59:59.999999Z";

describe.each(backends)("backoff, %s", (backend) => {
  test("doubles from the base to the maximum, exactly, for each of 100 attempts", async () => {
    await using bundle = await open(backend, { retry_base_seconds: 1, retry_max_seconds: 86_400 });
    const { job_id } = await givenJob(bundle, { max_attempts: 100 });
    const delays: number[] = [];
    let seconds = 0;
    for (let attempt = 1; attempt < 100; attempt += 1) {
      const claim = await claimOne(bundle);
      expect(claim.attempt).toBe(attempt);
      const failure = { ...leaseOf(claim), failure_code: "busy", retryable: true };
      const delay = Math.min(2 ** (attempt - 1), 86_400);
      seconds += delay;
      expect(await valueOf(bundle.worker.fail(failure))).toEqual({
        status: "queued",
        available_at: at(seconds),
      });
      delays.push(delay);
      await bundle.clock.advance(delay * 1000);
    }
    expect(delays.slice(0, 19)).toEqual([
      1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 86_400, 86_400,
    ]);
    const last = { ...leaseOf(await claimOne(bundle)), failure_code: "busy", retryable: true };
    expect(await valueOf(bundle.worker.fail(last))).toEqual({ status: "failed", available_at: null });
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "failed",
      attempts: 100,
      max_attempts: 100,
    });
  }, 60_000);

  test.each([
    [1, 1, [1, 1, 1]],
    [3, 7, [3, 6, 7]],
    [86_400, 86_400, [86_400, 86_400, 86_400]],
  ])("with base %p and maximum %p the delays are %p", async (base, max, expected) => {
    await using bundle = await open(backend, { retry_base_seconds: base, retry_max_seconds: max });
    await givenJob(bundle, { max_attempts: 4 });
    let seconds = 0;
    for (const delay of expected) {
      const failure = { ...leaseOf(await claimOne(bundle)), failure_code: "busy", retryable: true };
      seconds += delay;
      expect(await valueOf(bundle.worker.fail(failure))).toMatchObject({ available_at: at(seconds) });
      await bundle.clock.advance(delay * 1000);
    }
  });

  test("a delay keeps the microseconds of the moment of the failure", async () => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    await bundle.clock.advance(1234.567);
    const failure = { ...lease, failure_code: "busy", retryable: true };
    expect(await valueOf(bundle.worker.fail(failure))).toMatchObject({ available_at: at(11.234567) });
  });

  test("the shortest and the longest lease are exact", async () => {
    for (const lease_seconds of [1, 3600]) {
      await using bundle = await open(backend, { lease_seconds });
      await givenJob(bundle);
      expect(await claimOne(bundle)).toMatchObject({ lease_expires_at: at(lease_seconds) });
    }
  });

  test("a job for the last microsecond of the year 9999 waits for it", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { available_at: year10000 });
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "queued", available_at: year10000 });
    expect((await bundle.worker.claim({ queue: "mail" })).ok).toBe(false);
  });
});
