import { describe, expect, test } from "bun:test";
import { backends, open, openPostgres, postgresBackends } from "./support/backends.ts";
import {
  claimOne,
  domain,
  givenJob,
  inspectJob,
  jobRequest,
  leaseOf,
  runtimeKind,
  times,
  valueOf,
  valuesOf,
  verdictOf,
} from "./support/given.ts";

// A worker that ends a job and asks for the next in one turn: the two calls may share a statement, and must not share a fate.

const claim = { queue: "mail" };

describe.each(backends)("a completion and a claim together, %s", (backend) => {
  test("end the one job and start the next", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const next = await givenJob(bundle);
    const [ended, claimed] = await Promise.all([bundle.worker.complete(lease), bundle.worker.claim(claim)]);
    expect(ended).toMatchObject({ ok: true, value: { completed: true } });
    expect(claimed).toMatchObject({ ok: true, value: { job_id: next.job_id, attempt: 1 } });
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "succeeded" });
    expect(await inspectJob(bundle, next.job_id)).toMatchObject({ status: "running" });
  });

  test("in the other order too", async () => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    const { job_id } = await givenJob(bundle);
    const answers = await Promise.all([bundle.worker.claim(claim), bundle.worker.complete(lease)]);
    expect(answers).toMatchObject([{ ok: true, value: { job_id } }, { ok: true }]);
  });

  test("a refused completion claims all the same", async () => {
    await using bundle = await open(backend);
    const stale = await givenJob(bundle, { state: "expired" });
    const again = await claimOne(bundle);
    const next = await givenJob(bundle);
    const [ended, claimed] = await Promise.all([
      bundle.worker.complete(stale.lease),
      bundle.worker.claim(claim),
    ]);
    expect(ended).toEqual(domain("invalid_lease"));
    expect(claimed).toMatchObject({ ok: true, value: { job_id: next.job_id } });
    expect(await valueOf(bundle.worker.complete(leaseOf(again)))).toEqual({ completed: true });
  });

  test("a completion beside an empty queue counts", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const answers = await Promise.all([bundle.worker.complete(lease), bundle.worker.claim(claim)]);
    expect(answers.map(verdictOf)).toEqual(["ok", "no_job_available"]);
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "succeeded" });
  });

  test("a completion asked again beside a claim is answered as before", async () => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    await valueOf(bundle.worker.complete(lease));
    const { job_id } = await givenJob(bundle);
    const answers = await Promise.all([bundle.worker.complete(lease), bundle.worker.claim(claim)]);
    expect(answers).toMatchObject([
      { ok: true, value: { completed: true } },
      { ok: true, value: { job_id } },
    ]);
  });

  test("completions of one job that differ are each judged by their own proof", async () => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    const { job_id } = await givenJob(bundle);
    const forged = { ...lease, lease_token: `lt1_${"A".repeat(43)}` };
    const answers = await Promise.all([
      bundle.worker.complete(lease),
      bundle.worker2.complete(lease),
      bundle.worker.complete(forged),
      bundle.worker.complete(lease),
      bundle.worker.claim(claim),
    ]);
    expect(answers.map(verdictOf)).toEqual(["ok", "invalid_lease", "invalid_lease", "ok", "ok"]);
    expect(answers[4]).toMatchObject({ value: { job_id } });
  });

  test("a claim whose caller leaves takes the completion's answer from nobody", async () => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    const { job_id } = await givenJob(bundle);
    const leaving = new AbortController();
    const ended = bundle.worker.complete(lease);
    const claimed = bundle.worker.claim(claim, { signal: leaving.signal });
    leaving.abort();
    expect(runtimeKind(await claimed)).toBe("cancelled");
    expect(await valueOf(ended)).toEqual({ completed: true });
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 1 });
  });

  test("of 600 at once each job ends once and each claim gets a job of its own", async () => {
    await using bundle = await open(backend);
    await valuesOf(times(1200, () => bundle.producer.enqueue(jobRequest())));
    const first = await valuesOf(times(600, () => bundle.worker.claim(claim)));
    const pairs = await Promise.all(
      first.map(async (job) => {
        const [, next] = await Promise.all([
          valueOf(bundle.worker.complete(leaseOf(job))),
          valueOf(bundle.worker.claim(claim)),
        ]);
        return [job.job_id, next.job_id];
      }),
    );
    expect(new Set(pairs.flat()).size).toBe(1200);
  });
});

describe.each(postgresBackends)("a completion and a claim that share a statement, %s", (backend) => {
  test("the claim does not wait for a lease that somebody holds, and the completion counts after it", async () => {
    await using bundle = await openPostgres(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    const { job_id } = await givenJob(bundle);
    const blocker = await bundle.database.block("select from lease for update");
    const ended = bundle.worker.complete(lease);
    expect(await valueOf(bundle.worker.claim(claim))).toMatchObject({ job_id });
    await bundle.database.waiting(1);
    await blocker.commit();
    expect(await valueOf(ended)).toEqual({ completed: true });
  });

  test("past the lease's expiry the completion is refused, and the job is there for this claim or the next", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "expired" });
    const [ended, claimed] = await Promise.all([bundle.worker.complete(lease), bundle.worker.claim(claim)]);
    expect(ended).toEqual(domain("invalid_lease"));
    // While the completion is judged it holds the row for a moment, which a claim passes over.
    const again = claimed.ok ? claimed.value : await claimOne(bundle);
    expect(again).toMatchObject({ job_id, attempt: 2 });
  });

  test("a claim that the database refuses keeps no job from ending", async () => {
    await using bundle = await openPostgres(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    const { job_id } = await givenJob(bundle);
    await bundle.database.query("alter table ready rename to elsewhere");
    const [ended, claimed] = await Promise.all([bundle.worker.complete(lease), bundle.worker.claim(claim)]);
    await bundle.database.query("alter table elsewhere rename to ready");
    expect(ended).toMatchObject({ ok: true, value: { completed: true } });
    expect(runtimeKind(claimed)).toBeDefined();
    expect(await claimOne(bundle)).toMatchObject({ job_id, attempt: 1 });
  });

  test("what a failed statement was for has not happened, and can be asked again", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const next = await givenJob(bundle);
    await bundle.database.query("alter table outcome rename to elsewhere");
    const [ended, claimed] = await Promise.all([bundle.worker.complete(lease), bundle.worker.claim(claim)]);
    await bundle.database.query("alter table elsewhere rename to outcome");
    expect(runtimeKind(ended)).toBeDefined();
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running" });
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
    // When they have not gone together, the claim was given its job.
    expect(claimed.ok ? claimed.value : await claimOne(bundle)).toMatchObject({
      job_id: next.job_id,
      attempt: 1,
    });
  });
});
