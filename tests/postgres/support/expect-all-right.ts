import { expect } from "bun:test";
import type { DatabaseClock } from "../../../host-fixtures/index.ts";
import { leaseOf, newJob, ok, problem } from "./jobs.ts";
import type { JobsHost } from "./jobs-host.ts";

/** One job through every operation, with a payload and times that a wrong setting would change. */
export async function expectAllRight(jobs: JobsHost, clock: DatabaseClock): Promise<void> {
  const payload = { "naïve \u{1f600}": ["\\u0000", "ß → 東京", 1.5, -0.1, 1e-7, null], empty: {} };
  const request = newJob({ payload, available_at: "2025-10-05T02:30:00.123456+13:00" });
  const { job_id } = ok(await jobs.producer.enqueue(request));
  expect(
    ok(await jobs.producer.enqueue({ ...request, available_at: "2025-10-04T13:30:00.123456Z" })),
  ).toEqual({ job_id, created: false });
  expect(problem(await jobs.producer.enqueue({ ...request, max_attempts: 4 }))).toBe("idempotency_conflict");
  const future = ok(
    await jobs.producer.enqueue(newJob({ available_at: "2030-02-28T23:59:59.999999-12:00" })),
  );
  expect(ok(await jobs.observer.inspect({ job_id: future.job_id })).available_at).toBe(
    "2030-03-01T11:59:59.999999Z",
  );

  const claimed = ok(await jobs.worker.claim({ queue: "mail" }));
  expect(claimed).toMatchObject({ job_id, payload, attempt: 1 });
  const now = await clock.now();
  const leaseLeft = (at: string) => Math.round((Date.parse(at) - Date.parse(now)) / 1000);
  expect(claimed.lease_expires_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(leaseLeft(claimed.lease_expires_at)).toBe(30);
  expect(leaseLeft(ok(await jobs.worker.renew(leaseOf(claimed))).lease_expires_at)).toBe(30);
  const failed = ok(await jobs.worker.fail({ ...leaseOf(claimed), failure_code: "smtp", retryable: true }));
  expect(leaseLeft(failed.available_at ?? "")).toBe(5);
  expect(ok(await jobs.worker.fail({ ...leaseOf(claimed), failure_code: "smtp", retryable: true }))).toEqual(
    failed,
  );
  await clock.advance(5000);
  const again = ok(await jobs.worker.claim({ queue: "mail" }));
  await clock.advance(30_000);
  await jobs.maintain();
  const third = ok(await jobs.worker.claim({ queue: "mail" }));
  expect([again.attempt, third.attempt]).toEqual([2, 3]);
  ok(await jobs.worker.complete(leaseOf(third)));
  expect(problem(await jobs.worker.complete(leaseOf(again)))).toBe("invalid_lease");
  expect(ok(await jobs.observer.inspect({ job_id }))).toMatchObject({
    status: "succeeded",
    attempts: 3,
    last_failure_code: "lease_expired",
  });
}
