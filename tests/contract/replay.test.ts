import { describe, expect, test } from "bun:test";
import { backends, open } from "./support/backends.ts";
import {
  at,
  claimOne,
  domain,
  givenJob,
  inspectJob,
  leaseOf,
  times,
  valueOf,
  valuesOf,
} from "./support/given.ts";

const busy = { failure_code: "smtp.451", retryable: true };

describe.each(backends)("a lost reply asked for again, %s", (backend) => {
  test("complete gives the same answer, also long after, and changes nothing", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "succeeded" });
    const before = await inspectJob(bundle, job_id);
    for (const wait of [0, 29_000, 1_000_000]) {
      await bundle.clock.advance(wait);
      expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
    }
    expect(await inspectJob(bundle, job_id)).toEqual(before);
  });

  test("complete keeps its answer after a job that had failed before", async () => {
    await using bundle = await open(backend);
    await givenJob(bundle, { state: "retrying" });
    await bundle.clock.advance(10_000);
    const lease = leaseOf(await claimOne(bundle));
    for (const _ of times(2, () => 0)) {
      expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
    }
    expect(await bundle.worker.fail({ ...lease, ...busy })).toEqual(domain("invalid_lease"));
  });

  test("a retryable fail gives the same next run until the job is claimed again", async () => {
    await using bundle = await open(backend);
    const { lease, job_id } = await givenJob(bundle, { state: "running" });
    const call = { ...lease, ...busy };
    const answer = { status: "queued", available_at: at(10) } as const;
    for (const wait of [0, 5000, 5000, 600_000]) {
      await bundle.clock.advance(wait);
      expect(await valueOf(bundle.worker.fail(call))).toEqual(answer);
    }
    const again = await claimOne(bundle);
    expect(again).toMatchObject({ job_id, attempt: 2 });
    expect(await bundle.worker.fail(call)).toEqual(domain("invalid_lease"));
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running", attempts: 2 });
    expect(await valueOf(bundle.worker.fail({ ...leaseOf(again), ...busy }))).toMatchObject({
      status: "queued",
    });
    expect(await bundle.worker.fail(call)).toEqual(domain("invalid_lease"));
  });

  test.each([
    ["permanent", 3, false],
    ["last", 1, true],
  ])("a %s fail gives the same answer", async (_name, max_attempts, retryable) => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "running", max_attempts });
    const call = { ...lease, failure_code: "smtp.550", retryable };
    for (const _ of times(3, () => 0)) {
      expect(await valueOf(bundle.worker.fail(call))).toEqual({ status: "failed", available_at: null });
      await bundle.clock.advance(60_000);
    }
  });

  test("another argument makes it another call", async () => {
    await using bundle = await open(backend);
    const retried = await givenJob(bundle, { state: "retrying" });
    const permanent = await givenJob(bundle, { state: "running", max_attempts: 5 });
    const last = await givenJob(bundle, { state: "running", max_attempts: 1 });
    await valueOf(bundle.worker.fail({ ...permanent.lease, failure_code: "smtp.451", retryable: false }));
    await valueOf(bundle.worker.fail({ ...last.lease, ...busy }));
    for (const { lease, retryable } of [
      { ...retried, retryable: true },
      { ...permanent, retryable: false },
      { ...last, retryable: true },
    ]) {
      for (const other of [
        { failure_code: "smtp.452", retryable },
        { failure_code: "smtp.451", retryable: !retryable },
      ]) {
        expect(await bundle.worker.fail({ ...lease, ...other })).toEqual(domain("invalid_lease"));
      }
    }
  });

  test("another operation is refused", async () => {
    await using bundle = await open(backend);
    const completed = await givenJob(bundle, { state: "succeeded" });
    const retried = await givenJob(bundle, { state: "retrying" });
    const failed = await givenJob(bundle, { state: "failed" });
    for (const retryable of [true, false]) {
      const failure = { ...completed.lease, failure_code: "smtp.451", retryable };
      expect(await bundle.worker.fail(failure)).toEqual(domain("invalid_lease"));
    }
    for (const { lease } of [retried, failed]) {
      expect(await bundle.worker.complete(lease)).toEqual(domain("invalid_lease"));
    }
    for (const { lease } of [completed, retried, failed]) {
      expect(await bundle.worker.renew(lease)).toEqual(domain("invalid_lease"));
    }
  });

  test("another caller is refused", async () => {
    await using bundle = await open(backend);
    const completed = await givenJob(bundle, { state: "succeeded" });
    const retried = await givenJob(bundle, { state: "retrying" });
    expect(await bundle.worker2.complete(completed.lease)).toEqual(domain("invalid_lease"));
    expect(await bundle.worker2.fail({ ...retried.lease, ...busy })).toEqual(domain("invalid_lease"));
    expect(await bundle.producer.complete(completed.lease)).toEqual(domain("unauthorized"));
  });

  test("another job's id with the token is refused", async () => {
    await using bundle = await open(backend);
    const first = await givenJob(bundle, { state: "succeeded" });
    const second = await givenJob(bundle, { state: "running" });
    const crossed = { job_id: second.job_id, lease_token: first.lease.lease_token };
    expect(await bundle.worker.complete(crossed)).toEqual(domain("invalid_lease"));
    const forged = { ...first.lease, job_id: `${first.job_id.slice(0, -1)}${flipped(first.job_id)}` };
    expect(await bundle.worker.complete(forged)).toEqual(domain("invalid_lease"));
    expect(await bundle.observer.inspect({ job_id: forged.job_id })).toEqual(domain("job_not_found"));
  });

  test("duplicates in flight together share the answer of the one that settled", async () => {
    await using bundle = await open(backend);
    const completed = await givenJob(bundle, { state: "running" });
    const answers = await valuesOf(times(50, () => bundle.worker.complete(completed.lease)));
    expect(answers.every((answer) => answer.completed)).toBe(true);
    const retried = await givenJob(bundle, { state: "running" });
    const runs = await valuesOf(times(50, () => bundle.worker.fail({ ...retried.lease, ...busy })));
    expect(new Set(runs.map((run) => run.available_at))).toEqual(new Set([at(10)]));
    expect(await inspectJob(bundle, retried.job_id)).toMatchObject({ status: "queued", attempts: 1 });
  });

  test("of different settlements in flight together exactly one counts, and its duplicates", async () => {
    await using bundle = await open(backend);
    const { job_id, lease } = await givenJob(bundle, { state: "running" });
    const codes = ["a", "b", "c"];
    const fails = codes.flatMap((failure_code) =>
      times(5, async () => ({
        by: failure_code,
        answer: await bundle.worker.fail({ ...lease, failure_code, retryable: false }),
      })),
    );
    const completes = times(5, async () => ({ by: "complete", answer: await bundle.worker.complete(lease) }));
    const all = await Promise.all([...fails, ...completes]);
    const winners = new Set(all.filter(({ answer }) => answer.ok).map(({ by }) => by));
    expect(winners.size).toBe(1);
    const [winner = ""] = winners;
    expect(all.filter(({ by, answer }) => by === winner && answer.ok)).toHaveLength(5);
    const losers = all.filter(({ answer }) => !answer.ok).map(({ answer }) => answer);
    expect(losers).toEqual(losers.map(() => domain("invalid_lease")));
    expect(await inspectJob(bundle, job_id)).toMatchObject(
      winner === "complete"
        ? { status: "succeeded", last_failure_code: null }
        : { status: "failed", last_failure_code: winner },
    );
  });

  test("a reply survives a restart of the host", async () => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "succeeded" });
    await bundle.restart();
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
  });
});

const flipped = (id: string): string => (id.endsWith("A") ? "B" : "A");
