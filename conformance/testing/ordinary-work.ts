import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual } from "../expect-equal.ts";
import { leaseOf } from "../rig.ts";
import { valueOf } from "../verdict-of.ts";

/** A job's life without any trouble. A mutant that fails it is no test of a case: everything would tell. */
export const ordinaryWork: ConformanceCase = {
  rule: "ordinary work",
  name: "a job is enqueued, claimed, renewed and completed",
  async run(rig) {
    const { created } = await valueOf(rig.producer.enqueue(rig.request()));
    const claim = await rig.claim();
    await valueOf(rig.worker.renew(leaseOf(claim)));
    await valueOf(rig.worker.complete(leaseOf(claim)));
    const { job_id } = await rig.inspect(claim.job_id);
    expectEqual([created, claim.attempt, job_id], [true, 1, claim.job_id]);
  },
};
