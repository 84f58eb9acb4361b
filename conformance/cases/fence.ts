import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";
import { leaseCallNames, leaseCalls } from "./fencing.ts";

const rule = "the operator's fence";

/** The operator's fence after a restore. */
export const fenceCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "voids every lease at once, whose jobs are then as expired",
    needs: ["clock", "maintain", "fence"],
    async run(rig) {
      const retryable = await rig.running({ queue: "mail" });
      const exhausted = await rig.running({ queue: "other", max_attempts: 1 });
      await rig.advance(1000);
      await rig.fence();
      for (const { lease } of [retryable, exhausted]) {
        for (const name of leaseCallNames)
          await expectVerdict(leaseCalls[name](rig, lease), "invalid_lease", name);
      }
      expectFields(await rig.claim("mail"), { job_id: retryable.job_id, attempt: 2 });
      await expectVerdict(rig.worker.claim({ queue: "other" }), "no_job_available");
      expectFields(await rig.inspect(exhausted.job_id), {
        status: "failed",
        last_failure_code: "attempts_exhausted",
      });
    },
  },
  {
    rule,
    name: "leaves alone what is queued or has ended",
    needs: ["fence"],
    async run(rig) {
      const succeeded = await rig.running();
      await valueOf(rig.worker.complete(succeeded.lease));
      const failing = await rig.running();
      const failure = { ...failing.lease, failure_code: "busy", retryable: true };
      const answer = await valueOf(rig.worker.fail(failure));
      const queued = await rig.enqueue();
      const see = () => Promise.all([succeeded, failing, queued].map(({ job_id }) => rig.inspect(job_id)));
      const before = await see();
      await rig.fence();
      expectEqual(await see(), before);
      expectEqual(await valueOf(rig.worker.complete(succeeded.lease)), { completed: true });
      expectEqual(await valueOf(rig.worker.fail(failure)), answer);
    },
  },
  {
    rule,
    name: "is the moment from which its jobs wait, those too whose leases had expired unseen",
    needs: ["clock", "maintain", "fence"],
    async run(rig) {
      const expired = await rig.running();
      await rig.advance(31_000);
      const valid = await rig.running({ queue: "other" });
      const before = await rig.enqueue({ available_at: rig.at(39) });
      await rig.advance(9000);
      await rig.fence();
      await rig.maintain();
      for (const { job_id } of [expired, valid])
        expectFields(await rig.inspect(job_id), { status: "queued", available_at: rig.at(40) });
      expectEqual(await rig.claimAll(), [before.job_id, expired.job_id]);
    },
  },
];
