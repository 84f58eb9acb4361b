import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import { times } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";

const rule = "renewals";
const busy = { failure_code: "busy", retryable: true };

/** Leases that go on. */
export const renewalCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a token is good for any number of renewals",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      for (const _ of times(30, () => 0)) await expectVerdict(rig.worker.renew(lease), "ok");
      expectEqual(await valueOf(rig.worker.complete(lease)), { completed: true });
      expectFields(await rig.inspect(job_id), { status: "succeeded", attempts: 1 });
    },
  },
  {
    rule,
    name: "a lease that is renewed in time outlives its first expiry, in one attempt",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      for (let each = 0; each < 3; each += 1) {
        await rig.advance(rig.configuration.lease_seconds * 600);
        await expectVerdict(rig.worker.claim({ queue: "mail" }), "no_job_available");
        await expectVerdict(rig.worker.renew(lease), "ok");
      }
      expectEqual(await valueOf(rig.worker.complete(lease)), { completed: true });
      expectFields(await rig.inspect(job_id), { status: "succeeded", attempts: 1 });
    },
  },
  {
    rule,
    name: "a lease goes on as long as it is renewed, for many times its length",
    needs: ["clock"],
    async run(rig) {
      const { lease } = await rig.running();
      for (const _ of times(30, () => 0)) {
        await rig.advance(29_999.999);
        await expectVerdict(rig.worker.renew(lease), "ok");
      }
    },
  },
  {
    rule,
    name: "the lease of the last attempt can be renewed, and then completed",
    async run(rig) {
      const { lease } = await rig.running({ max_attempts: 1 });
      await expectVerdict(rig.worker.renew(lease), "ok");
      await expectVerdict(rig.worker.complete(lease), "ok");
    },
  },
  {
    rule,
    name: "fail counts after the first expiry of a renewed lease, and the delay from then",
    needs: ["clock"],
    async run(rig) {
      const { lease } = await rig.running();
      await rig.advance(20_000);
      await valueOf(rig.worker.renew(lease));
      await rig.advance(20_000);
      const { available_at } = await valueOf(rig.worker.fail({ ...lease, ...busy }));
      expectEqual(available_at, rig.at(50));
    },
  },
  {
    rule,
    name: "a renewal costs no attempt, also when the lease expires after it",
    async run(rig) {
      const { job_id, lease } = await rig.running({ max_attempts: 2 });
      await valueOf(rig.worker.renew(lease));
      await rig.passLease();
      expectFields(await rig.claim(), { job_id, attempt: 2 });
    },
  },
];
