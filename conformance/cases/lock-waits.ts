import type { ConformanceCase } from "../conformance-case.ts";
import { expectFields, expectThat } from "../expect-equal.ts";
import type { HeldLease } from "../jobs-conformance.ts";
import { expectVerdict } from "../verdict-of.ts";
import { leaseCallNames, leaseCalls } from "./fencing.ts";

const rule = "a settlement that has to wait";

/** The expiry is compared after the wait for the job, not before. */
export const lockWaitCases: readonly ConformanceCase[] = leaseCallNames.flatMap((name): ConformanceCase[] => [
  {
    rule,
    name: `${name} that waited past its lease for somebody who changed nothing is refused`,
    needs: ["clock", "holdLease"],
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const held = await rig.holdLease(job_id);
      try {
        const answer = leaseCalls[name](rig, lease);
        await expectWait(held, answer);
        await rig.passLease();
        await held.release();
        await expectVerdict(answer, "invalid_lease");
      } finally {
        await held.release();
      }
      expectFields(await rig.inspect(job_id), { status: "running", lease_expires_at: rig.at(30) });
      expectFields(await rig.claim(), { job_id, attempt: 2 });
    },
  },
  {
    rule,
    name: `${name} that waited within its lease counts`,
    needs: ["clock", "holdLease"],
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const held = await rig.holdLease(job_id);
      try {
        const answer = leaseCalls[name](rig, lease);
        await expectWait(held, answer);
        await rig.advance(29_999.999);
        await held.release();
        await expectVerdict(answer, "ok");
      } finally {
        await held.release();
      }
    },
  },
]);

/** The call waits for the holder, instead of ending before it. */
async function expectWait(held: HeldLease, answer: Promise<unknown>): Promise<void> {
  const first = await Promise.race([held.waited().then(() => "waits"), answer.then(() => "ended")]);
  expectThat(first === "waits", "the call to wait for whoever holds the lease");
}
