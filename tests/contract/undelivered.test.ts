import { describe, expect, test } from "bun:test";
import type { ClaimResponse } from "../../capability/index.ts";
import { backends, open, openPostgres, type PostgresBundle, postgresBackends } from "./support/backends.ts";
import { until } from "./support/contract-database.ts";
import {
  at,
  claimOne,
  givenJob,
  inspectJob,
  jobRequest,
  runtimeKind,
  times,
  valueOf,
  valuesOf,
  verdictOf,
} from "./support/given.ts";

type Opened = Awaited<ReturnType<typeof open>>;

/** The undo follows the statement's answer, which the caller no longer waits for. */
const queuedAgain = (bundle: Opened, job_id: string) =>
  until(async () => (await inspectJob(bundle, job_id)).status === "queued");

describe.each(backends)("a claim that nobody received, %s", (backend) => {
  test("gives its attempt back when the caller aborts before the answer", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle, { max_attempts: 1 });
    await bundle.clock.advance(1000);
    const call = new AbortController();
    const answer = bundle.worker.claim({ queue: "mail" }, { signal: call.signal });
    call.abort();
    expect(runtimeKind(await answer)).toBe("cancelled");
    await queuedAgain(bundle, job_id);
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "queued",
      attempts: 0,
      available_at: at(0),
      lease_expires_at: null,
      last_failure_code: null,
    });
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 1, max_attempts: 1 });
  });

  test("leaves the answer of the fail before it, for who asks again", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "retrying" });
    const again = () => bundle.worker.fail({ ...lease, failure_code: "smtp.451", retryable: true });
    await bundle.clock.advance(10_000);
    const call = new AbortController();
    const claim = bundle.worker.claim({ queue: "mail" }, { signal: call.signal });
    call.abort();
    expect(runtimeKind(await claim)).toBe("cancelled");
    await queuedAgain(bundle, job_id);
    expect(await valueOf(again())).toEqual({ status: "queued", available_at: at(10) });
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 2 });
    expect(verdictOf(await again())).toBe("invalid_lease");
  });

  test("leaves no trace when the caller had given up before the call", async () => {
    await using bundle = await open(backend);
    const { job_id } = await givenJob(bundle);
    const before = await inspectJob(bundle, job_id);
    const signal = AbortSignal.abort();
    expect(runtimeKind(await bundle.worker.claim({ queue: "mail" }, { signal }))).toBe("cancelled");
    expect(await inspectJob(bundle, job_id)).toEqual(before);
  });

  test("of 100 claims with half of them aborted, no attempt is lost and every answer is a lease of its own", async () => {
    await using bundle = await open(backend);
    await valuesOf(times(100, () => bundle.producer.enqueue(jobRequest({ max_attempts: 1 }))));
    const calls = times(100, () => new AbortController());
    const answers = calls.map(({ signal }) => bundle.worker.claim({ queue: "mail" }, { signal }));
    calls.forEach((call, index) => {
      if (index % 2 === 1) call.abort();
    });
    const received: ClaimResponse[] = [];
    for (const answer of await Promise.all(answers)) if (answer.ok) received.push(answer.value);
    expect(received.length).toBeGreaterThanOrEqual(50);
    while (received.length < 100) {
      const answer = await bundle.worker.claim({ queue: "mail" });
      if (answer.ok) received.push(answer.value);
      else await Bun.sleep(5);
    }
    expect(new Set(received.map((claim) => claim.job_id)).size).toBe(100);
    expect(received.every((claim) => claim.attempt === 1)).toBe(true);
    await valuesOf(
      received.map(({ job_id, lease_token }) => bundle.worker.complete({ job_id, lease_token })),
    );
  });
});

describe.each(postgresBackends)("a claim whose statement is slow, %s", (backend) => {
  /** Holds up the claim's own insert. */
  const slow = "lock table lease in share mode";

  /** A claim looks at them about once a second, before it takes anything; the next one goes to the ready jobs at once. */
  async function lookAtExpiredLeases(bundle: PostgresBundle): Promise<void> {
    expect((await bundle.worker.claim({ queue: "mail" })).ok).toBe(false);
  }

  test.each(["aborted", "past its deadline"])(
    "is undone once its answer arrives when it is %s",
    async (how) => {
      await using bundle = await openPostgres(backend);
      await lookAtExpiredLeases(bundle);
      const { job_id } = await givenJob(bundle, { max_attempts: 1, available_at: at(-60) });
      const blocker = await bundle.database.block(slow);
      const call = new AbortController();
      const options = how === "aborted" ? { signal: call.signal } : { timeoutMs: 100 };
      const answer = bundle.worker.claim({ queue: "mail" }, options);
      await bundle.database.waiting(1);
      call.abort();
      expect(runtimeKind(await answer)).toBe(how === "aborted" ? "cancelled" : "deadline_exceeded");
      await blocker.commit();
      await until(async () => {
        const rows = await bundle.database.query("select from ready where generation > 0");
        return rows.length > 0;
      });
      const [row] = await bundle.database.query("select generation::text, attempt from ready");
      expect(row).toEqual({ generation: "1", attempt: 0 });
      expect(await inspectJob(bundle, job_id)).toMatchObject({
        status: "queued",
        attempts: 0,
        available_at: at(0),
      });
      expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 1 });
    },
  );

  test("is undone before the host has stopped", async () => {
    await using bundle = await openPostgres(backend);
    await lookAtExpiredLeases(bundle);
    const { job_id } = await givenJob(bundle, { max_attempts: 1 });
    const blocker = await bundle.database.block(slow);
    const call = new AbortController();
    const answer = bundle.worker.claim({ queue: "mail" }, { signal: call.signal });
    await bundle.database.waiting(1);
    call.abort();
    expect(runtimeKind(await answer)).toBe("cancelled");
    const stopped = bundle.stop();
    await blocker.commit();
    await stopped;
    const rows = await bundle.database.query("select generation::text, attempt from ready");
    expect(rows).toEqual([{ generation: "1", attempt: 0 }]);
    await bundle.restart();
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 1 });
  });

  test("that the shutdown finds waiting is answered or undone, never lost", async () => {
    await using bundle = await openPostgres(backend);
    await valuesOf(times(20, () => bundle.producer.enqueue(jobRequest({ max_attempts: 1 }))));
    const blocker = await bundle.database.block(slow);
    const answers = times(20, () => bundle.worker.claim({ queue: "mail" }));
    await bundle.database.waiting(1);
    const stopped = bundle.stop();
    await blocker.commit();
    const received = (await Promise.all(answers)).flatMap((answer) => (answer.ok ? [answer.value] : []));
    await stopped;
    const [row] = await bundle.database.query<{ leases: number; untouched: number }>(`
      select (select count(*) from lease)::int as leases,
        (select count(*) from ready where attempt = 0)::int as untouched`);
    expect(row).toEqual({ leases: received.length, untouched: 20 - received.length });
    await bundle.restart();
    for (const { job_id, lease_token } of received) {
      expect(await valueOf(bundle.worker.complete({ job_id, lease_token }))).toEqual({ completed: true });
    }
  });

  test("keeps the answer of the fail before it, for who asks again", async () => {
    await using bundle = await openPostgres(backend);
    const { lease } = await givenJob(bundle, { state: "retrying" });
    const again = () => bundle.worker.fail({ ...lease, failure_code: "smtp.451", retryable: true });
    const answer = await valueOf(again());
    await bundle.clock.advance(10_000);
    const blocker = await bundle.database.block(slow);
    const call = new AbortController();
    const claim = bundle.worker.claim({ queue: "mail" }, { signal: call.signal });
    await bundle.database.waiting(1);
    call.abort();
    await claim;
    await blocker.commit();
    await until(async () => {
      const rows = await bundle.database.query("select from ready where generation = 2");
      return rows.length === 1;
    });
    expect(await valueOf(again())).toEqual(answer);
    const other = { ...lease, failure_code: "smtp.452", retryable: true };
    expect(verdictOf(await bundle.worker.fail(other))).toBe("invalid_lease");
    expect(verdictOf(await bundle.worker2.fail({ ...other, failure_code: "smtp.451" }))).toBe(
      "invalid_lease",
    );
    await claimOne(bundle);
    expect(verdictOf(await again())).toBe("invalid_lease");
  });

  test("keeps a code and a run time of an earlier attempt", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id } = await givenJob(bundle, { state: "retrying" });
    await bundle.clock.advance(15_000);
    const blocker = await bundle.database.block(slow);
    const call = new AbortController();
    const answer = bundle.worker.claim({ queue: "mail" }, { signal: call.signal });
    await bundle.database.waiting(1);
    call.abort();
    await answer;
    await blocker.commit();
    await until(async () => {
      const rows = await bundle.database.query("select from ready where generation = 2");
      return rows.length === 1;
    });
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "queued",
      attempts: 1,
      available_at: at(10),
      last_failure_code: "smtp.451",
    });
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 2 });
  });
});
