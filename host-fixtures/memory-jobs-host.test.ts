import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createJobsClient, type JobsClient } from "../capability/index.ts";
import { startHost } from "./host.ts";
import { createMemoryJobs } from "./memory-jobs.ts";
import { secretsFromMap } from "./secrets.ts";
import {
  claimed,
  configuration,
  evidence,
  given,
  leaseOf,
  mail,
  refused,
  setup,
  valueOf,
} from "./testing/memory-jobs-world.ts";
import { testPlugin } from "./testing/test-plugin.ts";

describe("behind the capability", () => {
  test("maintenance returns expired jobs to their queue and retires exhausted ones, in all queues", async () => {
    const bundle = await setup();
    const retryable = await given(bundle);
    const exhausted = await given(bundle, { queue: "other", max_attempts: 1 });
    await claimed(bundle);
    await claimed(bundle, "other");
    await bundle.clock.advance(31_000);
    bundle.store.maintain();
    expect(await evidence(bundle, retryable)).toMatchObject({
      status: "queued",
      attempts: 1,
      available_at: "2026-01-01T00:00:30.000000Z",
      last_failure_code: "lease_expired",
      updated_at: "2026-01-01T00:00:31.000000Z",
    });
    expect(await evidence(bundle, exhausted)).toMatchObject({
      status: "failed",
      last_failure_code: "attempts_exhausted",
    });
  });

  test("a fence voids every lease, and the jobs are claimed anew as expired ones", async () => {
    const bundle = await setup();
    const job_id = await given(bundle);
    const lease = leaseOf(await claimed(bundle));
    await bundle.clock.advance(1000);
    bundle.store.fence();
    expect(await bundle.worker.complete(lease)).toEqual(refused("invalid_lease"));
    expect(await claimed(bundle)).toMatchObject({ job_id, attempt: 2 });
    expect(await evidence(bundle, job_id)).toMatchObject({
      available_at: "2026-01-01T00:00:01.000000Z",
      last_failure_code: "lease_expired",
    });
  });

  test("jobs outlive their host, a lease and an idempotency key included", async () => {
    const before = await setup();
    const request = mail();
    const first = await valueOf(before.producer.enqueue(request));
    const lease = leaseOf(await claimed(before));
    await before.host.stop();
    expect(await before.worker.complete(lease)).toMatchObject({
      ok: false,
      error: { kind: "runtime", error: { kind: "admission_closed" } },
    });
    const after = await setup({ clock: before.clock, jobs: before.jobs });
    expect(await valueOf(after.producer.enqueue(request))).toEqual({ ...first, created: false });
    expect(await valueOf(after.worker.complete(lease))).toEqual({ completed: true });
    await after.host.stop();
  });

  test("two instances of one plugin share no job", async () => {
    const jobs = createMemoryJobs();
    const needs = ["left", "right"].map((id) => ({ id, capability: "lenso.jobs@1" }));
    const host = await startHost({
      instances: {
        producer: { plugin: testPlugin({ provides: {}, needs }) },
        left: { plugin: jobs, configuration: { ...configuration, worker_instances: ["producer"] } },
        right: { plugin: jobs, configuration: { ...configuration, worker_instances: ["producer"] } },
      },
      bindings: ["left", "right"].map((key) => ({ consumer: "producer", requirement: key, provider: key })),
    });
    const [left, right] = ["left", "right"].map((id) => createJobsClient(host.handle("producer", id)));
    const { job_id } = await valueOf((left as JobsClient).enqueue(mail()));
    expect(await right?.inspect({ job_id })).toEqual(refused("job_not_found"));
    expect(await right?.claim({ queue: "mail" })).toEqual(refused("no_job_available"));
    await host.stop();
  });

  test("an endpoint answers unavailable before prepare and admission_closed after deactivate", async () => {
    const instance = createMemoryJobs().instantiate({ instanceKey: "jobs", configuration });
    const inspect = () =>
      instance.endpoints[0]?.invokeRequest(
        "inspect",
        { requestId: "1", callerInstance: "observer", cancelled: false },
        { job_id: `job_${"A".repeat(24)}` },
      );
    const kind = (kind: string) =>
      ({ kind: "runtime", failure: { kind, detail: expect.any(String) } }) as never;
    const context = {} as never;
    expect(await inspect()).toEqual(kind("unavailable"));
    await instance.prepare?.(context);
    expect(await inspect()).toEqual({ kind: "domain", value: "job_not_found" });
    await instance.deactivate?.(context);
    expect(await inspect()).toEqual(kind("admission_closed"));
  });

  test("the composition of the real plugin, secrets included, works unchanged", async () => {
    const host = await startHost({
      instances: {
        jobs: { plugin: createMemoryJobs(), configuration },
        secrets: { plugin: secretsFromMap({ "jobs/url": "unused" }) },
      },
      bindings: [{ consumer: "jobs", requirement: "secrets", provider: "secrets" }],
    });
    await host.stop();
  });

  test("a bad configuration is refused as by the real plugin", async () => {
    const started = startHost({
      instances: {
        jobs: { plugin: createMemoryJobs(), configuration: { ...configuration, lease_seconds: 0 } },
      },
      bindings: [],
    });
    expect(started).rejects.toMatchObject({
      kind: "invalid_resolved_plan",
      detail: expect.stringContaining("lease_seconds: expected an integer 1..3600, got 0"),
    });
    await started.catch(() => {});
  });
});

test("random calls leave every job in one place and never give one lease twice", async () => {
  const bundle = await setup();
  const tokens = new Set<string>();
  const leases: { job_id: string; lease_token: string }[] = [];
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  const ids = new Set<string>();
  for (let step = 0; step < 2000; step += 1) {
    const lease = leases[random(Math.max(1, leases.length))];
    const act = random(7);
    if (act === 0) ids.add(await given(bundle, { max_attempts: 1 + random(3) }));
    else if (act === 1) await bundle.clock.advance(random(12_000));
    else if (act === 2) bundle.store.maintain();
    else if (act === 3 && lease) await bundle.worker.renew(lease);
    else if (act === 4 && lease) await bundle.worker.complete(lease);
    else if (act === 5 && lease)
      await bundle.worker.fail({ ...lease, failure_code: "x", retryable: random(2) === 0 });
    else {
      const answer = await bundle.worker.claim({ queue: "mail" });
      if (!answer.ok) continue;
      expect(answer.value.attempt).toBeLessThanOrEqual(answer.value.max_attempts);
      const hash = createHash("sha256").update(answer.value.lease_token).digest("hex");
      expect(tokens.has(hash)).toBe(false);
      tokens.add(hash);
      leases.push(leaseOf(answer.value));
    }
  }
  for (const job_id of ids) {
    const state = await evidence(bundle, job_id);
    expect(state.lease_expires_at === null).toBe(state.status !== "running");
    expect(state.attempts).toBeLessThanOrEqual(state.max_attempts);
    if (state.status === "queued") expect(state.attempts).toBeLessThan(state.max_attempts);
  }
});
