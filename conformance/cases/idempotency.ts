import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import { leaseOf, type Rig, times } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";

const rule = "idempotency";
const busy = { failure_code: "smtp.451", retryable: true };

/** One key of one producer is one job for ever. */
export const idempotencyCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "the same intent under the same key is the first job, and says that it was there",
    async run(rig) {
      const request = rig.request();
      const first = await valueOf(rig.producer.enqueue(request));
      expectEqual(first.created, true);
      const before = await rig.inspect(first.job_id);
      for (let each = 0; each < 3; each += 1)
        expectEqual(await valueOf(rig.producer.enqueue({ ...request })), { ...first, created: false });
      expectEqual(await rig.inspect(first.job_id), before);
      expectEqual(await rig.claimAll(), [first.job_id]);
    },
  },
  {
    rule,
    name: "a conflict stores nothing and moves nothing",
    async run(rig) {
      const { job_id, request } = await rig.enqueue();
      const before = await rig.inspect(job_id);
      const other = { ...request, payload: { to: "bob" } };
      await expectVerdict(rig.producer.enqueue(other), "idempotency_conflict");
      expectEqual(await rig.inspect(job_id), before);
      const claim = await rig.claim();
      expectFields(claim, { job_id, payload: request.payload });
      expectEqual(await rig.claimAll(), []);
    },
  },
  {
    rule,
    name: "a key holds while its job runs, is retried and has succeeded, and moves it never",
    async run(rig) {
      const { job_id, request, lease } = await rig.running();
      await expectHeld(rig, job_id, request);
      await valueOf(rig.worker.fail({ ...lease, ...busy }));
      await expectHeld(rig, job_id, request);
      await rig.passDelay();
      const second = leaseOf(await rig.claim());
      await expectHeld(rig, job_id, request);
      await valueOf(rig.worker.complete(second));
      await expectHeld(rig, job_id, request);
      expectEqual(await rig.claimAll(), []);
    },
  },
  {
    rule,
    name: "a key holds after its job has failed, by its worker or by exhaustion",
    async run(rig) {
      const failed = await rig.running();
      await valueOf(rig.worker.fail({ ...failed.lease, ...busy, retryable: false }));
      await expectHeld(rig, failed.job_id, failed.request);
      const exhausted = await rig.running({ max_attempts: 1 });
      await rig.passLease();
      await expectVerdict(rig.worker.claim({ queue: "mail" }), "no_job_available");
      await expectHeld(rig, exhausted.job_id, exhausted.request);
    },
  },
  {
    rule,
    name: "a key holds through every attempt, also while nobody has seen that the lease expired",
    async run(rig) {
      const { job_id, request } = await rig.running({ max_attempts: 4 });
      for (const _ of times(3, () => 0)) {
        await rig.passLease();
        await expectHeld(rig, job_id, request);
        await rig.claim();
        await expectHeld(rig, job_id, request);
      }
    },
  },
  {
    rule,
    name: "a key holds for years, before its job is due and after it has ended",
    needs: ["clock"],
    async run(rig) {
      const queued = await rig.enqueue({ available_at: "2326-03-01T00:00:00Z" });
      const ended = await rig.running();
      await valueOf(rig.worker.complete(ended.lease));
      for (const days of [0.01, 2, 400]) {
        await rig.advance(days * 86_400_000);
        for (const { job_id, request } of [queued, ended]) await expectHeld(rig, job_id, request);
      }
    },
  },
];

/** The same intent finds the job, another one conflicts, and neither changes it. */
async function expectHeld(rig: Rig, job_id: string, request: ReturnType<Rig["request"]>): Promise<void> {
  const before = await rig.inspect(job_id);
  expectEqual(await valueOf(rig.producer.enqueue(request)), { job_id, created: false }, before.status);
  const other = { ...request, payload: { to: "bob" } };
  await expectVerdict(rig.producer.enqueue(other), "idempotency_conflict", before.status);
  expectEqual(await rig.inspect(job_id), before);
}
