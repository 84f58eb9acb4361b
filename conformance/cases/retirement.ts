import type { ConformanceCase } from "../conformance-case.ts";
import { expectAbsent, expectEqual, expectFields, expectThat } from "../expect-equal.ts";
import { type Rig, times } from "../rig.ts";
import { expectVerdict, valuesOf } from "../verdict-of.ts";

const rule = "exhausted attempts";

/** Jobs that lost their last attempt fail, boundedly, and hide no other. */
export const retirementCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a claim fails a job that lost its last attempt, and does not hand it out",
    async run(rig) {
      const { job_id, lease, request } = await rig.running({ max_attempts: 1 });
      await rig.passLease();
      await expectVerdict(rig.worker.claim({ queue: request.queue }), "no_job_available");
      const seen = await rig.inspect(job_id);
      expectFields(seen, { status: "failed", attempts: 1, last_failure_code: "attempts_exhausted" });
      expectAbsent(seen.lease_expires_at, "lease");
      await expectVerdict(rig.worker.complete(lease), "invalid_lease");
      const failure = { ...lease, failure_code: "attempts_exhausted", retryable: false };
      await expectVerdict(rig.worker.fail(failure), "invalid_lease");
    },
  },
  {
    rule,
    name: "attempts_exhausted replaces the code before it",
    async run(rig) {
      const { job_id, lease, request } = await rig.running({ max_attempts: 2 });
      await rig.worker.fail({ ...lease, failure_code: "smtp.451", retryable: true });
      await rig.passDelay();
      await rig.claim();
      await rig.passLease();
      await expectVerdict(rig.worker.claim({ queue: request.queue }), "no_job_available");
      expectFields(await rig.inspect(job_id), {
        status: "failed",
        attempts: 2,
        last_failure_code: "attempts_exhausted",
      });
    },
  },
  {
    rule,
    name: "maintenance fails jobs that lost their last attempt, in every queue",
    needs: ["maintain"],
    async run(rig) {
      const jobs = [
        await rig.running({ max_attempts: 1, queue: "mail" }),
        await rig.running({ max_attempts: 1, queue: "other" }),
      ];
      await rig.passLease();
      await rig.maintain();
      for (const { job_id } of jobs)
        expectFields(await rig.inspect(job_id), {
          status: "failed",
          last_failure_code: "attempts_exhausted",
        });
    },
  },
  {
    rule,
    name: "one claim fails at most 64 of them, and claims go on until none is left",
    needs: ["maintain"],
    async run(rig) {
      const exhausted = await givenRunning(rig, 130, 1);
      await rig.passLease();
      for (let before = 0, claims = 0; before < 130; claims += 1) {
        expectThat(claims < 10, "10 claims to be enough for 130 exhausted jobs");
        await expectVerdict(rig.worker.claim({ queue: "mail" }), "no_job_available");
        const now = await failedOf(rig, exhausted);
        expectThat(now > before && now - before <= 64, `1 to 64 jobs failed by a claim, got ${now - before}`);
        before = now;
      }
    },
  },
  {
    rule,
    name: "many of them hide neither an expired job with attempts left nor a due one",
    needs: ["maintain"],
    async run(rig) {
      await givenRunning(rig, 130, 1);
      const retryable = await rig.running({ max_attempts: 2 });
      await rig.passLease();
      const due = await rig.enqueue();
      const claimed = [(await rig.claim()).job_id, (await rig.claim()).job_id];
      expectEqual(claimed.sort(), [retryable.job_id, due.job_id].sort());
    },
  },
  {
    rule,
    name: "due jobs in plenty keep no expired job from being taken back",
    needs: ["maintain"],
    async run(rig) {
      const exhausted = await rig.running({ max_attempts: 1 });
      const retryable = await rig.running({ max_attempts: 2 });
      await Promise.all(times(20, () => rig.enqueue()));
      await rig.passLease();
      const ids = await rig.claimAll();
      expectEqual(ids.length, 21, "jobs handed out");
      expectThat(ids.includes(retryable.job_id), "the expired job among them");
      expectFields(await rig.inspect(exhausted.job_id), { status: "failed" });
    },
  },
];

async function givenRunning(rig: Rig, count: number, max_attempts: number): Promise<string[]> {
  await Promise.all(times(count, () => rig.enqueue({ max_attempts })));
  const claims = await valuesOf(times(count, () => rig.worker.claim({ queue: "mail" })));
  return claims.map(({ job_id }) => job_id);
}

async function failedOf(rig: Rig, ids: readonly string[]): Promise<number> {
  const seen = await Promise.all(ids.map((id) => rig.inspect(id)));
  return seen.filter(({ status }) => status === "failed").length;
}
