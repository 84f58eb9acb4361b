import type { ConformanceCase } from "../conformance-case.ts";
import { expectAbsent, expectEqual, expectFields } from "../expect-equal.ts";
import { leaseOf, type Rig, type RunningJob, times } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";

const rule = "states";
const busy = { failure_code: "smtp.451", retryable: true };

/** The states of a job and the moves between them. */
export const stateCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a new job is queued, without an attempt, a lease or a code",
    async run(rig) {
      const { job_id, request } = await rig.enqueue({ max_attempts: 7 });
      const seen = await rig.inspect(job_id);
      const { queue, kind } = request;
      expectFields(seen, { job_id, queue, kind, status: "queued", attempts: 0, max_attempts: 7 });
      expectAbsent(seen.lease_expires_at, "lease");
      expectAbsent(seen.last_failure_code, "code");
      expectEqual([seen.available_at, seen.updated_at], [seen.created_at, seen.created_at]);
    },
  },
  {
    rule,
    name: "a claim makes a due job running, hands out what was enqueued, and counts one attempt",
    async run(rig) {
      const payload = { to: "ada", parts: [1, null, { deep: true }] };
      const { job_id, request, claim } = await rig.running({ payload, max_attempts: 2 });
      const { queue, kind } = request;
      expectFields(claim, { job_id, queue, kind, payload, attempt: 1, max_attempts: 2 });
      const seen = await rig.inspect(job_id);
      expectFields(seen, { status: "running", attempts: 1, lease_expires_at: claim.lease_expires_at });
    },
  },
  {
    rule,
    name: "a running job is not handed out again while its lease lasts",
    async run(rig) {
      const { request } = await rig.running();
      for (const caller of ["worker", "worker2"] as const)
        await expectVerdict(rig[caller].claim({ queue: request.queue }), "no_job_available", caller);
    },
  },
  {
    rule,
    name: "a claim hands out jobs of its own queue only",
    async run(rig) {
      const { job_id } = await rig.enqueue({ queue: "other" });
      await expectVerdict(rig.worker.claim({ queue: "mail" }), "no_job_available");
      expectFields(await rig.claim("other"), { job_id, queue: "other" });
    },
  },
  {
    rule,
    name: "complete makes a running job succeeded and clears its lease",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      expectEqual(await valueOf(rig.worker.complete(lease)), { completed: true });
      const seen = await rig.inspect(job_id);
      expectFields(seen, { status: "succeeded", attempts: 1 });
      expectAbsent(seen.lease_expires_at, "lease");
      expectAbsent(seen.last_failure_code, "code");
    },
  },
  {
    rule,
    name: "a retryable fail queues the job again, with its code and its attempt",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const { status, available_at } = await valueOf(rig.worker.fail({ ...lease, ...busy }));
      expectEqual(status, "queued");
      const seen = await rig.inspect(job_id);
      expectFields(seen, { status: "queued", attempts: 1, available_at, last_failure_code: "smtp.451" });
      expectAbsent(seen.lease_expires_at, "lease");
      await rig.passDelay();
      expectFields(await rig.claim(), { job_id, attempt: 2 });
    },
  },
  {
    rule,
    name: "a permanent fail fails the job for good",
    async run(rig) {
      const job = await rig.running({ max_attempts: 3 });
      await expectFailed(rig, job, false);
    },
  },
  {
    rule,
    name: "a retryable fail of the last attempt fails the job for good, with the caller's code",
    async run(rig) {
      const job = await rig.running({ max_attempts: 1 });
      await expectFailed(rig, job, true);
    },
  },
  {
    rule,
    name: "the last failure code stays through later attempts and success, until another replaces it",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const code = async () => (await rig.inspect(job_id)).last_failure_code;
      await valueOf(rig.worker.fail({ ...lease, ...busy }));
      await rig.passDelay();
      const second = leaseOf(await rig.claim());
      expectEqual(await code(), "smtp.451", "while running");
      await valueOf(rig.worker.fail({ ...second, ...busy, failure_code: "smtp.452" }));
      expectEqual(await code(), "smtp.452");
      await rig.passDelay();
      await valueOf(rig.worker.complete(leaseOf(await rig.claim())));
      expectEqual(await code(), "smtp.452", "after success");
    },
  },
  {
    rule,
    name: "a job that succeeded or failed never leaves that state",
    async run(rig) {
      const succeeded = await rig.running();
      await valueOf(rig.worker.complete(succeeded.lease));
      const failed = await rig.running();
      await valueOf(rig.worker.fail({ ...failed.lease, ...busy, retryable: false }));
      for (const { job_id, lease, request } of [succeeded, failed]) {
        const before = await rig.inspect(job_id);
        const other = { ...lease, failure_code: "other", retryable: true };
        for (const call of [rig.worker.renew(lease), rig.worker.fail(other), rig.worker2.complete(lease)])
          await expectVerdict(call, "invalid_lease", before.status);
        await rig.worker.complete(lease); // an answer to one of them, and nothing new
        expectEqual(await valueOf(rig.producer.enqueue(request)), { job_id, created: false });
        expectEqual(await rig.inspect(job_id), before);
      }
      await rig.passLease();
      expectEqual(await rig.claimAll(), []);
    },
  },
  {
    rule,
    name: "a job is handed out max_attempts times and not once more, however its attempts end",
    async run(rig) {
      const { job_id } = await rig.enqueue({ max_attempts: 3 });
      for (const attempt of times(3, (index) => index + 1)) {
        const claim = await rig.claim();
        expectFields(claim, { job_id, attempt });
        if (attempt === 2) await valueOf(rig.worker.fail({ ...leaseOf(claim), ...busy }));
        await (attempt === 2 ? rig.passDelay() : rig.passLease());
      }
      expectEqual(await rig.claimAll(), []);
      expectFields(await rig.inspect(job_id), { status: "failed", attempts: 3, max_attempts: 3 });
    },
  },
];

async function expectFailed(rig: Rig, { job_id, lease }: RunningJob, retryable: boolean): Promise<void> {
  const failure = { ...lease, failure_code: "smtp.550", retryable };
  expectEqual(await valueOf(rig.worker.fail(failure)), { status: "failed", available_at: null });
  const seen = await rig.inspect(job_id);
  expectFields(seen, { status: "failed", attempts: 1, last_failure_code: "smtp.550" });
  expectAbsent(seen.lease_expires_at, "lease");
  await rig.passDelay();
  expectEqual(await rig.claimAll(), []);
}
