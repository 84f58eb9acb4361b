import { describe, expect, test } from "bun:test";
import type { ClaimResponse, JobsClient, LeaseRequest } from "../../capability/index.ts";
import {
  type Backend,
  type Bundle,
  backends,
  open,
  openPostgres,
  postgresBackends,
} from "./support/backends.ts";
import {
  domain,
  inspectJob,
  jobRequest,
  leaseOf,
  seededRandom,
  times,
  valueOf,
  valuesOf,
  verdictOf,
} from "./support/given.ts";

describe.each(backends)("many callers at once, %s", (backend) => {
  test("never get the same job or the same lease, and every job is given out once", async () => {
    await using bundle = await open(backend);
    const ids = (await valuesOf(times(300, () => bundle.producer.enqueue(jobRequest())))).map(
      (job) => job.job_id,
    );
    const workers = [bundle.worker, bundle.worker2];
    const answers = await Promise.all(
      times(400, (index) => (workers[index % 2] as JobsClient).claim({ queue: "mail" })),
    );
    const claims = answers.flatMap((answer) => (answer.ok ? [answer.value] : []));
    expect(claims.map((claim) => claim.job_id).toSorted()).toEqual(ids.toSorted());
    expect(new Set(claims.map((claim) => claim.lease_token)).size).toBe(300);
    const empty = answers.filter((answer) => !answer.ok);
    expect(empty).toEqual(empty.map(() => domain("no_job_available")));
  });

  test("each get their own verdict, whatever travels with them", async () => {
    await using bundle = await open(backend);
    await valuesOf(times(60, () => bundle.producer.enqueue(jobRequest())));
    const claims = await valuesOf(times(60, () => bundle.worker.claim({ queue: "mail" })));
    const verdicts = await Promise.all(
      claims.map(async (claim, index) => {
        const lease = leaseOf(claim);
        if (index % 3 === 0) return verdictOf(await bundle.worker.complete(lease));
        if (index % 3 === 1) return verdictOf(await bundle.worker2.complete(lease));
        const other = claims[(index + 1) % 60] as ClaimResponse;
        return verdictOf(await bundle.worker.complete({ ...lease, lease_token: other.lease_token }));
      }),
    );
    expect(verdicts).toEqual(times(60, (index) => (index % 3 === 0 ? "ok" : "invalid_lease")));
  });

  test("a random mix of all operations leaves every job in one place, and each settled once", () =>
    randomWork(backend, 3));
});

describe.each(postgresBackends)("several processes at once, %s", (backend) => {
  test("give every job out once", async () => {
    await using bundle = await openPostgres(backend);
    await using second = await bundle.another();
    await using third = await bundle.another();
    const ids = (await valuesOf(times(300, () => bundle.producer.enqueue(jobRequest())))).map(
      (job) => job.job_id,
    );
    const hosts = [bundle, second, third];
    const claims: ClaimResponse[] = [];
    const drain = async (host: Bundle) => {
      for (;;) {
        const answers = await Promise.all(times(10, () => host.worker.claim({ queue: "mail" })));
        for (const answer of answers) if (answer.ok) claims.push(answer.value);
        if (answers.every((answer) => !answer.ok)) return;
      }
    };
    await Promise.all(hosts.map(drain));
    expect(claims.map((claim) => claim.job_id).toSorted()).toEqual(ids.toSorted());
    expect(new Set(claims.map((claim) => claim.lease_token)).size).toBe(300);
  });

  test("settle a lease once, whichever of them is asked", async () => {
    await using bundle = await openPostgres(backend);
    await using second = await bundle.another();
    for (let round = 0; round < 20; round += 1) {
      const { job_id } = await valueOf(bundle.producer.enqueue(jobRequest()));
      const lease = leaseOf(await valueOf(bundle.worker.claim({ queue: "mail" })));
      const [completed, failed] = await Promise.all([
        bundle.worker.complete(lease),
        second.worker.fail({ ...lease, failure_code: "busy", retryable: false }),
      ]);
      expect([verdictOf(completed), verdictOf(failed)].toSorted()).toEqual(["invalid_lease", "ok"]);
      const { status } = await inspectJob(bundle, job_id);
      expect(status).toBe(completed.ok ? "succeeded" : "failed");
    }
  });
});

/** Clients that do anything at any time, while the clock runs and maintenance comes and goes. */
async function randomWork(backend: Backend, seed: number): Promise<void> {
  await using bundle = await open(backend, { lease_seconds: 5, retry_base_seconds: 1, retry_max_seconds: 4 });
  const random = seededRandom(seed);
  const requests = times(120, (index) =>
    jobRequest({ queue: index % 4 === 0 ? "other" : "mail", max_attempts: 1 + (index % 4) }),
  );
  const ids = new Map<string, string>();
  const leases: LeaseRequest[] = [];
  const tokens: string[] = [];
  const settled = new Map<string, string[]>();
  const note = (lease: LeaseRequest, what: string) =>
    settled.set(lease.job_id, [...(settled.get(lease.job_id) ?? []), `${what} ${lease.lease_token}`]);
  const allowed = new Set(["ok", "no_job_available", "invalid_lease", "idempotency_conflict"]);

  const act = async (): Promise<string> => {
    const worker = random(2) === 0 ? bundle.worker : bundle.worker2;
    const lease = leases[random(leases.length)];
    const choice = random(12);
    if (choice < 3 || lease === undefined) {
      const request = requests[random(requests.length)] ?? jobRequest();
      const changed = random(10) === 0 ? { ...request, kind: "other" } : request;
      const answer = await bundle.producer.enqueue(changed);
      if (answer.ok) {
        expect(ids.get(request.idempotency_key) ?? answer.value.job_id).toBe(answer.value.job_id);
        ids.set(request.idempotency_key, answer.value.job_id);
      }
      return verdictOf(answer);
    }
    if (choice < 7) {
      const answer = await worker.claim({ queue: random(4) === 0 ? "other" : "mail" });
      if (answer.ok) {
        tokens.push(answer.value.lease_token);
        leases.push(leaseOf(answer.value));
        if (leases.length > 20) leases.shift();
      }
      return verdictOf(answer);
    }
    if (choice === 7) return verdictOf(await worker.renew(lease));
    if (choice < 10) {
      const answer = await worker.complete(lease);
      if (answer.ok) note(lease, "complete");
      return verdictOf(answer);
    }
    const answer = await worker.fail({ ...lease, failure_code: "busy", retryable: random(3) > 0 });
    if (answer.ok && answer.value.status === "failed") note(lease, "fail");
    return verdictOf(answer);
  };

  for (let round = 0; round < 60; round += 1) {
    const verdicts = await Promise.all(times(20, act));
    expect(verdicts.filter((verdict) => !allowed.has(verdict))).toEqual([]);
    if (random(3) === 0) await bundle.clock.advance(random(4000));
    if (random(5) === 0) await bundle.maintain();
  }

  expect(new Set(tokens).size === tokens.length).toBe(true);
  for (const calls of settled.values()) expect(new Set(calls).size).toBe(1);
  for (const job_id of ids.values()) {
    const state = await inspectJob(bundle, job_id);
    expect(state.status === "running").toBe(state.lease_expires_at !== null);
    expect(state.attempts).toBeLessThanOrEqual(state.max_attempts);
    expect(settled.has(job_id)).toBe(
      state.status === "succeeded" ||
        (state.status === "failed" && state.last_failure_code !== "attempts_exhausted"),
    );
  }
}
