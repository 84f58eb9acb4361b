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
      const queued = await rig.enqueue();
      const before = [await rig.inspect(succeeded.job_id), await rig.inspect(queued.job_id)];
      await rig.fence();
      expectEqual([await rig.inspect(succeeded.job_id), await rig.inspect(queued.job_id)], before);
      expectEqual(await valueOf(rig.worker.complete(succeeded.lease)), { completed: true });
    },
  },
];
