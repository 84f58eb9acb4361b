import type { ConformanceCase } from "../conformance-case.ts";
import { expectThat } from "../expect-equal.ts";
import { type Rig, times } from "../rig.ts";

const rule = "no job starves";

/** What never ends keeps nothing else waiting for ever. */
export const starvationCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "due jobs that keep coming keep no expired job waiting for long",
    needs: ["clock", "maintain"],
    async run(rig) {
      const { job_id } = await rig.running({ max_attempts: 100 });
      await rig.passLease();
      await rig.soon("a claim hands out the expired job while due ones keep coming", async () => {
        return (await claimAmongDue(rig)) === job_id;
      });
    },
  },
  {
    rule,
    name: "due jobs that keep coming keep no exhausted job running for long",
    needs: ["clock", "maintain"],
    async run(rig) {
      const { job_id } = await rig.running({ max_attempts: 1 });
      await rig.passLease();
      await rig.soon("a claim fails the exhausted job while due ones keep coming", async () => {
        await claimAmongDue(rig);
        return (await rig.inspect(job_id)).status === "failed";
      });
    },
  },
  {
    rule,
    name: "jobs that expire again and again keep no due one waiting",
    needs: ["clock"],
    async run(rig) {
      for (const _ of times(20, () => 0)) await rig.running({ max_attempts: 100 });
      await rig.passLease();
      const { job_id } = await rig.enqueue();
      const claimed: string[] = [];
      for (const _ of times(60, () => 0)) {
        claimed.push((await rig.claim()).job_id);
        if (claimed.includes(job_id)) return;
        await rig.advance(2000); // the first of the 20 has expired again before the last was handed out
      }
      expectThat(false, "the due job among 60 claims, of which 20 are enough for the others");
    },
  },
];

/** Adds a due job and claims one: there always is a due one to be had. */
async function claimAmongDue(rig: Rig): Promise<string> {
  await rig.enqueue();
  await rig.advance(1);
  return (await rig.claim()).job_id;
}
