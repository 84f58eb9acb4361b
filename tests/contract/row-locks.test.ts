import { describe, expect, test } from "bun:test";
import type { LeaseRequest } from "../../capability/index.ts";
import { openPostgres, type PostgresBundle, postgresBackends } from "./support/backends.ts";
import { until } from "./support/contract-database.ts";
import {
  at,
  claimOne,
  domain,
  givenJob,
  inspectJob,
  jobRequest,
  leaseOf,
  times,
  valueOf,
  valuesOf,
  verdictOf,
} from "./support/given.ts";

const calls = {
  complete: (bundle: PostgresBundle, lease: LeaseRequest) => bundle.worker.complete(lease),
  renew: (bundle: PostgresBundle, lease: LeaseRequest) => bundle.worker.renew(lease),
  "a retryable fail": (bundle: PostgresBundle, lease: LeaseRequest) =>
    bundle.worker.fail({ ...lease, failure_code: "late", retryable: true }),
  "a permanent fail": (bundle: PostgresBundle, lease: LeaseRequest) =>
    bundle.worker.fail({ ...lease, failure_code: "late", retryable: false }),
} as const;
const operations = Object.keys(calls) as (keyof typeof calls)[];

/** Whoever holds the row: what it did to it, and how it ends. None of them lets the lease live on. */
const blockers = [
  ["committed a change", "update lease set updated_at = updated_at", "commit"],
  ["rolled a change back", "update lease set updated_at = updated_at", "rollback"],
  ["rolled a renewal back", "update lease set expires_at = expires_at + interval '1 hour'", "rollback"],
  ["had only locked", "select from lease for update", "commit"],
  ["had only locked in passing", "select from lease for share", "commit"],
] as const;

describe.each(postgresBackends)("a lease whose row somebody holds, %s", (backend) => {
  describe.each(blockers)("until it %s", (_name, statement, end) => {
    test.each(operations)("past the lease's expiry: %s is refused", async (operation) => {
      await using bundle = await openPostgres(backend);
      const { job_id, lease } = await givenJob(bundle, { state: "running" });
      const blocker = await bundle.database.block(statement);
      const answer = calls[operation](bundle, lease);
      await bundle.database.waiting(1);
      await bundle.clock.advance(30_000);
      await blocker[end]();
      expect(await answer).toEqual(domain("invalid_lease"));
      expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running", lease_expires_at: at(30) });
      expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 2 });
    });

    test.each(operations)("within the lease: %s counts", async (operation) => {
      await using bundle = await openPostgres(backend);
      const { lease } = await givenJob(bundle, { state: "running" });
      const blocker = await bundle.database.block(statement);
      const answer = calls[operation](bundle, lease);
      await bundle.database.waiting(1);
      await bundle.clock.advance(29_999.999);
      await blocker[end]();
      expect(verdictOf(await answer)).toBe("ok");
    });
  });

  test("until a renewal commits: a completion past the first expiry counts", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const blocker = await bundle.database.block(
      "update lease set expires_at = expires_at + interval '30 seconds'",
    );
    const answer = bundle.worker.complete(lease);
    await bundle.database.waiting(1);
    await bundle.clock.advance(40_000);
    await blocker.commit();
    expect(await valueOf(answer)).toEqual({ completed: true });
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "succeeded" });
  });

  test("until another claim commits: the old holder's completion is refused, the fresh lease lives", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const blocker = await bundle.database.block(`
      update lease set token = sha256('another'), generation = generation + 1, attempt = attempt + 1,
        expires_at = expires_at + interval '1 hour'`);
    const answers = operations.map((operation) => calls[operation](bundle, lease));
    await bundle.database.waiting(1);
    await blocker.commit();
    for (const answer of await Promise.all(answers)) expect(answer).toEqual(domain("invalid_lease"));
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running", attempts: 2 });
  });

  test("keeps only its own callers waiting: claims, enqueues, settlements and looks of others go on", async () => {
    await using bundle = await openPostgres(backend);
    await valuesOf(times(10, () => bundle.producer.enqueue(jobRequest())));
    const leases = (await valuesOf(times(10, () => bundle.worker.claim({ queue: "mail" })))).map(leaseOf);
    const blocker = await bundle.database.block(
      "select from lease where id in (select id from lease order by id limit 3) for update",
    );
    const all = leases.map((lease) => bundle.worker.complete(lease));
    let settled = 0;
    for (const answer of all) void answer.then(() => (settled += 1));
    await until(async () => settled === 7);
    await givenJob(bundle);
    await valueOf(bundle.worker.complete(leaseOf(await claimOne(bundle))));
    await inspectJob(bundle, leases[0]?.job_id ?? "");
    expect(settled).toBe(7);
    await blocker.commit();
    expect((await valuesOf(all)).every(({ completed }) => completed)).toBe(true);
  });
});

describe.each(postgresBackends)("maintenance beside a holder, %s", (backend) => {
  test("leaves a lease alone that is being renewed, and its fresh expiry counts", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "expired" });
    const blocker = await bundle.database.block(
      "update lease set expires_at = expires_at + interval '30 seconds'",
    );
    await bundle.maintain();
    await blocker.commit();
    await bundle.maintain();
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running", lease_expires_at: at(60) });
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
  });

  test("never brings a job back that is being settled", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id } = await givenJob(bundle, { state: "expired" });
    const blocker = await bundle.database.block(`
      with hit as (delete from lease returning *)
      insert into outcome (id, next_run, finished_at, owner, attempt, state, operation, token)
      select id, next_run, lenso_test_clock.now(), owner, attempt, 's', 'c', token from hit`);
    await bundle.maintain();
    const claim = bundle.worker.claim({ queue: "mail" });
    await blocker.commit();
    expect(await claim).toEqual(domain("no_job_available"));
    await bundle.maintain();
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  test("takes a job back that somebody had only locked, at the next round", async () => {
    await using bundle = await openPostgres(backend);
    const locked = await givenJob(bundle, { state: "running" });
    const other = await givenJob(bundle, { state: "expired" });
    const blocker = await bundle.database.block(
      "select from lease where id = (select min(id) from lease) for update",
    );
    await bundle.maintain();
    expect(await inspectJob(bundle, other.job_id)).toMatchObject({ status: "queued" });
    expect(await inspectJob(bundle, locked.job_id)).toMatchObject({ status: "running" });
    await blocker.commit();
    await until(async () => {
      await bundle.maintain();
      return (await inspectJob(bundle, locked.job_id)).status === "queued";
    }, 6000);
  });

  test("runs in several processes at once without taking a job twice", async () => {
    await using bundle = await openPostgres(backend);
    await using second = await bundle.another();
    await valuesOf(times(100, () => bundle.producer.enqueue(jobRequest({ max_attempts: 2 }))));
    await valuesOf(times(100, () => bundle.worker.claim({ queue: "mail" })));
    await bundle.clock.advance(30_000);
    await Promise.all([bundle.maintain(), second.maintain(), bundle.worker.claim({ queue: "mail" })]);
    await bundle.maintain();
    const [row] = await bundle.database.query<{ jobs: number }>(
      "select ((select count(*) from ready where attempt = 1) + (select count(*) from lease where attempt = 2))::int as jobs",
    );
    expect(row?.jobs).toBe(100);
  });
});

describe.each(postgresBackends)("the tables, %s", (backend) => {
  test("hold no running job without an expiry, a token and a generation", async () => {
    await using bundle = await openPostgres(backend);
    await givenJob(bundle, { state: "running" });
    for (const column of ["expires_at", "token", "generation", "owner", "attempt", "max_attempts"]) {
      const refused = await bundle.database.query(`update lease set ${column} = null`).then(
        () => "stored",
        () => "refused",
      );
      expect({ column, refused }).toEqual({ column, refused: "refused" });
    }
  });
});
