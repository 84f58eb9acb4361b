import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import { leaseOf, type Rig, type RunningJob, times } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";

const rule = "a lost reply asked for again";
const busy = { failure_code: "smtp.451", retryable: true };

/** The very call that settled a job may be repeated; no other may. */
export const replayCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "complete gives the same answer, however often and also long after, and changes nothing",
    async run(rig) {
      const { job_id, lease } = await completed(rig);
      const before = await rig.inspect(job_id);
      for (const _ of times(30, () => 0))
        expectEqual(await valueOf(rig.worker.complete(lease)), { completed: true });
      await rig.passLease();
      expectEqual(await valueOf(rig.worker.complete(lease)), { completed: true }, "after its lease");
      expectEqual(await rig.inspect(job_id), before);
    },
  },
  {
    rule,
    name: "the reply of a settlement is there a year later too, whatever else its worker has settled",
    needs: ["clock"],
    async run(rig) {
      const done = await completed(rig);
      const retried = await rig.running({ queue: "other" });
      const answer = await valueOf(rig.worker.fail({ ...retried.lease, ...busy }));
      await failed(rig, false);
      await rig.advance(400 * 86_400_000);
      expectEqual(await valueOf(rig.worker.complete(done.lease)), { completed: true });
      expectEqual(await valueOf(rig.worker.fail({ ...retried.lease, ...busy })), answer);
    },
  },
  {
    rule,
    name: "a retryable fail gives the same next run, also when that is past",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const answer = await valueOf(rig.worker.fail({ ...lease, ...busy }));
      const before = await rig.inspect(job_id);
      expectEqual(await valueOf(rig.worker.fail({ ...lease, ...busy })), answer, "at once");
      await rig.passLease();
      expectEqual(await valueOf(rig.worker.fail({ ...lease, ...busy })), answer, "later");
      expectEqual(await rig.inspect(job_id), before);
    },
  },
  {
    rule,
    name: "a retryable fail has no answer any more once the job is claimed again, whatever comes of that",
    async run(rig) {
      const { job_id, lease } = await failed(rig, true, 4);
      const expectNone = (when: string) =>
        expectVerdict(rig.worker.fail({ ...lease, ...busy }), "invalid_lease", when);
      await rig.passDelay();
      const second = leaseOf(await rig.claim());
      await expectNone("while it runs");
      expectFields(await rig.inspect(job_id), { status: "running", attempts: 2 });
      await valueOf(rig.worker.fail({ ...second, ...busy }));
      await expectNone("after the next failure");
      await rig.passDelay();
      await rig.claim();
      await rig.passLease();
      await expectNone("after the next lease has expired");
      await valueOf(rig.worker.complete(leaseOf(await rig.claim())));
      await expectNone("after success");
    },
  },
  {
    rule,
    name: "a fail for good gives the same answer, permanent or on the last attempt",
    async run(rig) {
      const permanent = { ...(await rig.running()).lease, failure_code: "smtp.550", retryable: false };
      const last = { ...(await rig.running({ max_attempts: 1 })).lease, ...busy };
      for (const call of [permanent, permanent, last, last])
        expectEqual(await valueOf(rig.worker.fail(call)), { status: "failed", available_at: null });
      await rig.passLease();
      for (const call of [permanent, last])
        expectEqual(await valueOf(rig.worker.fail(call)), { status: "failed", available_at: null });
    },
  },
  {
    rule,
    name: "a fail with another code, or the same in other case, is another call",
    async run(rig) {
      for (const retryable of [true, false]) {
        const { lease } = await failed(rig, retryable);
        for (const failure_code of ["smtp.452", "SMTP.451"]) {
          const other = { ...lease, failure_code, retryable };
          await expectVerdict(rig.worker.fail(other), "invalid_lease", `${failure_code}, ${retryable}`);
        }
      }
    },
  },
  {
    rule,
    name: "a fail that asks otherwise for a retry is another call",
    async run(rig) {
      for (const [max_attempts, retryable] of [[3, true] as const, [3, false] as const, [1, true] as const]) {
        const { lease } = await failed(rig, retryable, max_attempts);
        const other = { ...lease, failure_code: "smtp.451", retryable: !retryable };
        await expectVerdict(rig.worker.fail(other), "invalid_lease", `${max_attempts}, ${retryable}`);
      }
    },
  },
  {
    rule,
    name: "complete after a fail is refused",
    async run(rig) {
      for (const retryable of [true, false]) {
        const { lease } = await failed(rig, retryable);
        await expectVerdict(rig.worker.complete(lease), "invalid_lease", `retryable ${retryable}`);
      }
    },
  },
  {
    rule,
    name: "fail after a complete is refused",
    async run(rig) {
      const { job_id, lease } = await completed(rig);
      for (const retryable of [true, false])
        await expectVerdict(rig.worker.fail({ ...lease, ...busy, retryable }), "invalid_lease");
      expectFields(await rig.inspect(job_id), { status: "succeeded" });
    },
  },
  {
    rule,
    name: "renew with a spent token is refused",
    async run(rig) {
      for (const { lease } of [await completed(rig), await failed(rig, true), await failed(rig, false)])
        await expectVerdict(rig.worker.renew(lease), "invalid_lease");
    },
  },
  {
    rule,
    name: "another worker that asks again is refused",
    async run(rig) {
      const { lease } = await completed(rig);
      await expectVerdict(rig.worker2.complete(lease), "invalid_lease", "complete");
      for (const retryable of [true, false]) {
        const call = { ...(await failed(rig, retryable)).lease, ...busy, retryable };
        await expectVerdict(rig.worker2.fail(call), "invalid_lease", "fail");
      }
    },
  },
  {
    rule,
    name: "the token of another job that is settled too is refused",
    async run(rig) {
      const [first, second] = [await completed(rig), await completed(rig)];
      const crossed = { job_id: first.job_id, lease_token: second.lease.lease_token };
      await expectVerdict(rig.worker.complete(crossed), "invalid_lease");
      const [third, fourth] = [await failed(rig, true), await failed(rig, true)];
      const call = { job_id: third.job_id, lease_token: fourth.lease.lease_token, ...busy };
      await expectVerdict(rig.worker.fail(call), "invalid_lease");
    },
  },
  {
    rule,
    name: "a job that failed by exhaustion answers nobody as if it had been settled",
    async run(rig) {
      const { job_id, lease } = await rig.running({ max_attempts: 1 });
      await rig.passLease();
      await expectVerdict(rig.worker.claim({ queue: "mail" }), "no_job_available");
      await expectVerdict(rig.worker.complete(lease), "invalid_lease");
      const call = { ...lease, failure_code: "attempts_exhausted", retryable: true };
      await expectVerdict(rig.worker.fail(call), "invalid_lease");
      expectFields(await rig.inspect(job_id), { status: "failed" });
    },
  },
];

async function completed(rig: Rig): Promise<RunningJob> {
  const job = await rig.running();
  await valueOf(rig.worker.complete(job.lease));
  return job;
}

async function failed(rig: Rig, retryable: boolean, max_attempts = 3): Promise<RunningJob> {
  const job = await rig.running({ max_attempts });
  await valueOf(rig.worker.fail({ ...job.lease, ...busy, retryable }));
  return job;
}
