import type { ConformanceCase } from "../conformance-case.ts";
import { expectAbsent, expectEqual, expectFields, expectThat } from "../expect-equal.ts";
import { type Rig, times } from "../rig.ts";
import { expectVerdict, valueOf, verdictOf } from "../verdict-of.ts";

const rule = "a claim that nobody received";

/** A claim that nobody received is no attempt. */
export const undeliveredCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "gives its attempt back when the caller gave up before the answer",
    async run(rig) {
      const { job_id } = await rig.enqueue({ max_attempts: 1 });
      const before = await rig.inspect(job_id);
      if (!(await abandonClaim(rig))) return;
      await queuedAgain(rig, job_id);
      const seen = await rig.inspect(job_id);
      expectFields(seen, { status: "queued", attempts: 0, available_at: before.available_at });
      expectAbsent(seen.lease_expires_at, "lease");
      expectAbsent(seen.last_failure_code, "code");
      expectFields(await rig.claim(), { job_id, attempt: 1, max_attempts: 1 });
    },
  },
  {
    rule,
    name: "leaves the answer of the fail before it to who asks again",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const call = { ...lease, failure_code: "smtp.451", retryable: true };
      const answer = await valueOf(rig.worker.fail(call));
      await rig.passDelay();
      if (!(await abandonClaim(rig))) return;
      await queuedAgain(rig, job_id);
      expectEqual(await valueOf(rig.worker.fail(call)), answer);
      expectFields(await rig.claim(), { job_id, attempt: 2 });
      await expectVerdict(rig.worker.fail(call), "invalid_lease");
    },
  },
  {
    rule,
    name: "is handed out again, although later jobs have been handed out meanwhile",
    needs: ["clock"],
    async run(rig) {
      for (const seconds of [1, 2, 3]) await rig.enqueue({ available_at: rig.at(seconds), max_attempts: 1 });
      await rig.advance(5000);
      const call = new AbortController();
      const first = rig.worker.claim({ queue: "mail" }, { signal: call.signal });
      const second = rig.worker.claim({ queue: "mail" });
      call.abort();
      const answers = [await first, await second];
      const ids = answers.flatMap((answer) => (answer.ok ? [answer.value.job_id] : []));
      await rig.soon("all three jobs are handed out", async () => {
        ids.push(...(await rig.claimAll()));
        return ids.length === 3;
      });
      expectEqual(new Set(ids).size, 3, "jobs");
    },
  },
  {
    rule,
    name: "is none of the attempts, and every claim that was received has a job of its own",
    async run(rig) {
      await Promise.all(times(40, () => rig.enqueue({ max_attempts: 1 })));
      const calls = times(40, () => new AbortController());
      const answers = calls.map(({ signal }) => rig.worker.claim({ queue: "mail" }, { signal }));
      for (const call of calls.filter((_, index) => index % 2 === 1)) call.abort();
      const claims = (await Promise.all(answers)).flatMap((each) => (each.ok ? [each.value] : []));
      expectThat(claims.length >= 20, "an answer for each claim that was not given up");
      await rig.soon("all 40 jobs are handed out", async () => {
        while (claims.length <= 40) {
          const answer = await rig.worker.claim({ queue: "mail" });
          if (!answer.ok) return claims.length === 40;
          claims.push(answer.value);
        }
        return true; // one too many, which the count below tells
      });
      expectEqual(claims.length, 40, "claims");
      expectEqual(new Set(claims.map(({ job_id }) => job_id)).size, 40, "jobs");
      expectThat(
        claims.every(({ attempt }) => attempt === 1),
        "the first attempt of each",
      );
    },
  },
];

/** A claim whose caller gives up at once. False when the answer was there by then: it was received, and there is nothing to give back. */
async function abandonClaim(rig: Rig): Promise<boolean> {
  const call = new AbortController();
  const answer = verdictOf(rig.worker.claim({ queue: "mail" }, { signal: call.signal }));
  call.abort();
  const verdict = await answer;
  if (verdict !== "ok") expectEqual(verdict, "runtime cancelled");
  return verdict !== "ok";
}

/** The provider takes the claim back once its own answer arrives, which nobody waits for. */
async function queuedAgain(rig: Rig, jobId: string): Promise<void> {
  await rig.soon("an abandoned claim is taken back", async () => {
    return (await rig.inspect(jobId)).status === "queued";
  });
}
