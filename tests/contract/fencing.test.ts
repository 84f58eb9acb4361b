import { describe, expect, test } from "bun:test";
import type { LeaseRequest } from "../../capability/index.ts";
import { fence } from "../../plugin/operator/fence.ts";
import { type Bundle, backends, open, openPostgres, postgresBackends } from "./support/backends.ts";
import {
  at,
  claimOne,
  domain,
  givenJob,
  inspectJob,
  leaseOf,
  seededRandom,
  valueOf,
  verdictOf,
} from "./support/given.ts";

/** What a worker may try with a lease. */
const attempts = {
  renew: (bundle: Bundle, lease: LeaseRequest) => bundle.worker.renew(lease),
  complete: (bundle: Bundle, lease: LeaseRequest) => bundle.worker.complete(lease),
  "a retryable fail": (bundle: Bundle, lease: LeaseRequest) =>
    bundle.worker.fail({ ...lease, failure_code: "old", retryable: true }),
  "a permanent fail": (bundle: Bundle, lease: LeaseRequest) =>
    bundle.worker.fail({ ...lease, failure_code: "old", retryable: false }),
} as const;
const names = Object.keys(attempts) as (keyof typeof attempts)[];

describe.each(backends)("fencing, %s", (backend) => {
  test.each(names)("%s under a lease that was reclaimed changes nothing, and says so", async (name) => {
    await using bundle = await open(backend);
    const { job_id, lease: old } = await givenJob(bundle, { state: "expired" });
    const current = leaseOf(await claimOne(bundle));
    const before = await inspectJob(bundle, job_id);
    expect(await attempts[name](bundle, old)).toEqual(domain("invalid_lease"));
    expect(await inspectJob(bundle, job_id)).toEqual(before);
    expect(await valueOf(bundle.worker.renew(current))).toEqual({ lease_expires_at: at(60) });
    expect(await valueOf(bundle.worker.complete(current))).toEqual({ completed: true });
    expect(await attempts[name](bundle, old)).toEqual(domain("invalid_lease"));
  });

  test.each(names)("%s under a lease that maintenance took back changes nothing", async (name) => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "expired" });
    await bundle.maintain();
    const before = await inspectJob(bundle, job_id);
    expect(await attempts[name](bundle, lease)).toEqual(domain("invalid_lease"));
    expect(await inspectJob(bundle, job_id)).toEqual(before);
  });

  test("a token of one attempt opens no other, although worker, job and state are the same", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { max_attempts: 5 });
    const old: LeaseRequest[] = [];
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      old.push(leaseOf(await claimOne(bundle)));
      await bundle.clock.advance(30_000);
    }
    const current = leaseOf(await claimOne(bundle));
    for (const lease of old) {
      for (const name of names) expect(await attempts[name](bundle, lease)).toEqual(domain("invalid_lease"));
    }
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running", attempts: 5 });
    expect(await valueOf(bundle.worker.complete(current))).toEqual({ completed: true });
  });

  test("one attempt means one run: the job of a holder that died fails and never runs again", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { state: "expired", max_attempts: 1 });
    for (let each = 0; each < 3; each += 1) {
      expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
      await bundle.maintain();
      await bundle.clock.advance(60_000);
    }
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "failed",
      attempts: 1,
      last_failure_code: "attempts_exhausted",
    });
  });

  test("a lease that is renewed in time outlives any number of lease times, in one attempt", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    for (let each = 0; each < 10; each += 1) {
      await bundle.clock.advance(25_000);
      await bundle.maintain();
      expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
      expect(verdictOf(await bundle.worker.renew(lease))).toBe("ok");
    }
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "succeeded", attempts: 1 });
  });
});

describe.each(postgresBackends)("lease generations, %s", (backend) => {
  const generations = (bundle: Awaited<ReturnType<typeof openPostgres>>) =>
    bundle.database.query<{ id: string; generation: string }>(`
      select id::text, generation::text from lease union all select id::text, generation::text from ready`);

  test("only grow, whatever sequence of calls, expiries, undone claims and fences happens", async () => {
    await using bundle = await openPostgres(backend, { retry_base_seconds: 1, retry_max_seconds: 5 });
    const random = seededRandom(4);
    for (let each = 0; each < 4; each += 1) await givenJob(bundle, { max_attempts: 100 });
    const highest = new Map<string, bigint>();
    const granted = new Set<string>();
    let lease: LeaseRequest | undefined;
    for (let step = 0; step < 150; step += 1) {
      const choice = random(9);
      if (choice < 3) {
        const answer = await bundle.worker.claim({ queue: "mail" });
        if (answer.ok) {
          lease = leaseOf(answer.value);
          const [row] = await bundle.database.query<{ grant: string }>(
            "select id || ' ' || generation as grant from lease where token = $1::text::bytea",
            [`\\x${hashOf(lease.lease_token)}`],
          );
          expect(granted.has(String(row?.grant))).toBe(false);
          granted.add(String(row?.grant));
        }
      } else if (choice === 3) {
        const call = new AbortController();
        const answer = bundle.worker.claim({ queue: "mail" }, { signal: call.signal });
        call.abort();
        await answer;
      } else if (choice === 4 && lease) await attempts["a retryable fail"](bundle, lease);
      else if (choice === 5 && lease) await bundle.worker.renew(lease);
      else if (choice === 6) await bundle.clock.advance(random(40_000));
      else if (choice === 7) await bundle.maintain();
      else if (random(4) === 0) await fence({ databaseUrl: bundle.database.url, schema: "jobs" });
      for (const { id, generation } of await generations(bundle)) {
        expect(BigInt(generation) >= (highest.get(id) ?? 0n)).toBe(true);
        highest.set(id, BigInt(generation));
      }
    }
    expect(granted.size).toBeGreaterThan(10);
  });

  test("a fence voids every lease at once, whose jobs are then as expired", async () => {
    // A host of its own, since its clock is set back below.
    await using bundle = await openPostgres(backend, { observer_instances: ["observer", "operator"] });
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const exhausted = await givenJob(bundle, { state: "running", max_attempts: 1, queue: "other" });
    await bundle.database.clock.thaw();
    const report = await fence({ databaseUrl: bundle.database.url, schema: "jobs" });
    expect(report.ok).toBe(true);
    for (const name of names) expect(await attempts[name](bundle, lease)).toEqual(domain("invalid_lease"));
    const rows = await bundle.database.query("select generation::text from lease order by id");
    expect(rows).toEqual([{ generation: "2" }, { generation: "2" }]);
    // The operator's command reads PostgreSQL's own clock, of which this database's is behind.
    await bundle.database.query("update lenso_test_clock.setting set frozen_at = null, ahead = '1 minute'");
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 2 });
    await bundle.maintain();
    expect(await inspectJob(bundle, exhausted.job_id)).toMatchObject({
      status: "failed",
      last_failure_code: "attempts_exhausted",
    });
    expect(await bundle.worker.complete(lease)).toEqual(domain("invalid_lease"));
  });

  test("only the SHA-256 of a token is stored", async () => {
    await using bundle = await openPostgres(backend);
    const running = await givenJob(bundle, { state: "running" });
    const retrying = await givenJob(bundle, { state: "retrying" });
    const succeeded = await givenJob(bundle, { state: "succeeded" });
    for (const { lease } of [running, retrying, succeeded]) {
      const token = lease.lease_token.slice("job_lease_".length);
      const hex = Buffer.from(token, "base64url").toString("hex");
      const tables = ["jobs", "ready", "lease", "outcome"];
      const texts = tables.map((table) => `select t::text as row from ${table} t`).join(" union all ");
      const rows = await bundle.database.query<{ row: string }>(texts);
      expect(rows.some(({ row }) => row.includes(token) || row.includes(hex))).toBe(false);
      expect(rows.some(({ row }) => row.includes(hashOf(lease.lease_token)))).toBe(true);
    }
  });
});

function hashOf(token: string): string {
  const bytes = Buffer.from(token.slice("job_lease_".length), "base64url");
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}
