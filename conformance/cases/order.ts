import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual } from "../expect-equal.ts";
import { times } from "../rig.ts";
import { valueOf } from "../verdict-of.ts";

const rule = "order";

/** Next run time first, then the order of enqueue. */
export const orderCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "jobs of one run time are handed out in the order of their enqueue",
    async run(rig) {
      const ids: string[] = [];
      for (const _ of times(12, () => 0)) ids.push((await rig.enqueue()).job_id);
      expectEqual(await rig.claimAll(), ids);
    },
  },
  {
    rule,
    name: "jobs are handed out by run time, whatever the order of their enqueue",
    needs: ["clock"],
    async run(rig) {
      const jobs: { readonly id: string; readonly seconds: number }[] = [];
      for (const seconds of [5, 2, 9, 2.000001, 7, 1, 2, 8, 3])
        jobs.push({ id: (await rig.enqueue({ available_at: rig.at(seconds) })).job_id, seconds });
      await rig.advance(10_000);
      const sorted = jobs.toSorted((a, b) => a.seconds - b.seconds); // stable: equal ones as enqueued
      expectEqual(
        await rig.claimAll(),
        sorted.map(({ id }) => id),
      );
    },
  },
  {
    rule,
    name: "times asked for in the past give no precedence among each other",
    async run(rig) {
      const ids: string[] = [];
      for (const year of [2010, 1990, 2020, 2000])
        ids.push((await rig.enqueue({ available_at: `${year}-01-01T00:00:00Z` })).job_id);
      expectEqual(await rig.claimAll(), ids);
    },
  },
  {
    rule,
    name: "a retried job stands where its next run belongs",
    needs: ["clock"],
    async run(rig) {
      const retried = await rig.running();
      await valueOf(rig.worker.fail({ ...retried.lease, failure_code: "busy", retryable: true }));
      const after = await rig.enqueue({ available_at: rig.at(10.000001) });
      const before = await rig.enqueue({ available_at: rig.at(9.999999) });
      await rig.advance(11_000);
      expectEqual(await rig.claimAll(), [before.job_id, retried.job_id, after.job_id]);
    },
  },
  {
    rule,
    name: "a retried job and another of the same run time go by their enqueue",
    needs: ["clock"],
    async run(rig) {
      const retried = await rig.running();
      const other = await rig.enqueue({ available_at: rig.at(11) });
      await rig.advance(1000);
      await valueOf(rig.worker.fail({ ...retried.lease, failure_code: "busy", retryable: true }));
      await rig.advance(10_000);
      expectEqual(await rig.claimAll(), [retried.job_id, other.job_id]);
    },
  },
  {
    rule,
    name: "many jobs of the future hide no due one",
    async run(rig) {
      await Promise.all(times(100, () => rig.enqueue({ available_at: "2326-03-01T00:00:00Z" })));
      const { job_id } = await rig.enqueue();
      expectEqual(await rig.claimAll(), [job_id]);
    },
  },
];
