import { describe, expect, test } from "bun:test";
import type { CallResult, LeaseRequest } from "../../capability/index.ts";
import { rowOf } from "../postgres/support/jobs.ts";
import { watch } from "../postgres/support/observe.ts";
import {
  backends,
  type Caller,
  open,
  openPostgres,
  type PostgresBundle,
  postgresBackends,
} from "./support/backends.ts";
import { until } from "./support/contract-database.ts";
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
    const forged = { ...lease, lease_token: `job_lease_${"A".repeat(43)}` };
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

/** The same id of a job with one bit of its random part changed. */
function anotherNonce(jobId: string): string {
  const bytes = Buffer.from(jobId.slice("job_".length), "base64url");
  bytes[17] = (bytes[17] ?? 0) ^ 1;
  return `job_${bytes.toString("base64url")}`;
}

/**
 * Makes a call in the turn of a claim until both went in one statement: about once a second a claim looks further than the queue's head
 * and takes nothing along. A completion that is made with them tells: its row and the new lease are of one transaction. Whatever comes
 * of a call that went alone must be the same.
 */
async function besideClaim<T>(
  bundle: PostgresBundle,
  claimer: Caller,
  call: () => Promise<CallResult<T, string>>,
): Promise<CallResult<T, string>> {
  const answers: CallResult<T, string>[] = [];
  for (let tried = 1; tried <= 10; tried += 1) {
    const { job_id: ended, lease } = await givenJob(bundle, { state: "running" });
    const { job_id: next } = await givenJob(bundle);
    const [answer, , claimed] = await Promise.all([
      call(),
      valueOf(bundle.worker.complete(lease)),
      valueOf(bundle[claimer].claim(claim)),
    ]);
    answers.push(answer);
    expect(claimed.job_id).toBe(next);
    const shared = await bundle.database.query(
      "select from outcome o, lease l where o.id = $1 and l.id = $2 and o.xmin = l.xmin",
      [rowOf(ended), rowOf(next)],
    );
    if (shared.length === 0) continue;
    for (const each of answers) expect(each).toEqual(answer);
    return answer;
  }
  throw new Error("ten times a completion and a claim of one turn did not share a statement");
}

const gateLock = 47_110_816;

/** Does some work while every statement that inserts into a table stands still, however long: its gate knows no time-out of locks. */
async function whileInsertsAreHeld<T>(
  { database }: PostgresBundle,
  table: "ready" | "lease",
  work: () => Promise<T>,
): Promise<T> {
  await database.query(`
    create function pass_gate() returns trigger language plpgsql set lock_timeout = 0 as $$
    begin
      perform pg_advisory_xact_lock_shared(${gateLock});
      return null;
    end $$;
    create trigger pass_gate before insert on ${table} for each statement execute function pass_gate()`);
  const gate = await database.block(`select pg_advisory_xact_lock(${gateLock})`);
  try {
    return await work();
  } finally {
    await gate.rollback();
    await database.query("drop function pass_gate cascade");
  }
}

async function untilAnswered(call: Promise<unknown>): Promise<void> {
  const watched = watch(call);
  await until(async () => !watched.open);
}

describe.each(postgresBackends)("a completion and a claim that share a statement, %s", (backend) => {
  const forged: Record<
    string,
    (bundle: PostgresBundle, lease: LeaseRequest) => Promise<CallResult<unknown, string>>
  > = {
    "by another worker": ({ worker2 }, lease) => worker2.complete(lease),
    "under another token": ({ worker }, lease) =>
      worker.complete({ ...lease, lease_token: `job_lease_${"A".repeat(43)}` }),
    "under another id of the job's row": ({ worker }, lease) =>
      worker.complete({ ...lease, job_id: anotherNonce(lease.job_id) }),
  };
  test.each(
    Object.keys(forged).flatMap((how) =>
      (["worker", "worker2"] as const).map((claimer) => [how, claimer] as const),
    ),
  )("a completion %s beside a claim of %s is invalid_lease, and its owner's counts", async (how, claimer) => {
    await using bundle = await openPostgres(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const forge = forged[how] as (typeof forged)[string];
    expect(await besideClaim(bundle, claimer, () => forge(bundle, lease))).toEqual(domain("invalid_lease"));
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running" });
    expect(await besideClaim(bundle, claimer, () => bundle.worker.complete(lease))).toEqual({
      ok: true,
      value: { completed: true },
    });
  });

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

  test("a completion does not wait for the look at expired leases that a claim begins with", async () => {
    await using bundle = await openPostgres(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    await using fresh = await bundle.another();
    expect(await fresh.worker.claim(claim)).toEqual(domain("no_job_available"));
    await Bun.sleep(1010); // nothing announces that the look is due again: it is a second after the last
    const [claimed, ended] = await whileInsertsAreHeld(bundle, "ready", async () => {
      const answers = [fresh.worker.claim(claim), fresh.worker.complete(lease)] as const;
      await untilAnswered(answers[1]);
      await bundle.database.waiting(1); // the look goes on
      return answers;
    });
    expect(await valueOf(ended)).toEqual({ completed: true });
    expect(await claimed).toEqual(domain("no_job_available"));
  });

  test("a completion does not wait for a claim that looks at the whole queue", async () => {
    await using bundle = await openPostgres(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    await using fresh = await bundle.another();
    // After this the queue's expired leases are not looked at for a second, and there is no place yet to look from.
    expect(await fresh.worker.claim(claim)).toEqual(domain("no_job_available"));
    const [claimed, ended] = await whileInsertsAreHeld(bundle, "lease", async () => {
      const answers = [fresh.worker.claim(claim), fresh.worker.complete(lease)] as const;
      await untilAnswered(answers[1]);
      await bundle.database.waiting(1);
      return answers;
    });
    expect(await valueOf(ended)).toEqual({ completed: true });
    expect(await claimed).toEqual(domain("no_job_available"));
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
