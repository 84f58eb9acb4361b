import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import { leaseOf, type Rig } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";

const rule = "backoff";

/** The delay before the next attempt. */
export const backoffCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "the delay doubles from the base to the maximum, exactly",
    needs: ["clock"],
    run: (rig) => expectDelays(rig, 6, [10, 20, 40, 60, 60]),
  },
  {
    rule,
    name: "a maximum that is no multiple of the base is kept exactly",
    needs: ["clock"],
    configuration: { retry_base_seconds: 3, retry_max_seconds: 7 },
    run: (rig) => expectDelays(rig, 4, [3, 6, 7]),
  },
  {
    rule,
    name: "no delay overflows, for any of 100 attempts",
    needs: ["clock"],
    configuration: { retry_base_seconds: 1, retry_max_seconds: 86_400 },
    run: (rig) =>
      expectDelays(
        rig,
        100,
        Array.from({ length: 99 }, (_, index) => Math.min(2 ** index, 86_400)),
      ),
  },
  {
    rule,
    name: "the delay counts from the moment of the failure, to the microsecond",
    needs: ["clock"],
    async run(rig) {
      const { job_id, lease } = await rig.running();
      await rig.advance(1234.567);
      const failure = { ...lease, failure_code: "busy", retryable: true };
      expectEqual((await valueOf(rig.worker.fail(failure))).available_at, rig.at(11.234567));
      await rig.advance(9999.999);
      await expectVerdict(rig.worker.claim({ queue: "mail" }), "no_job_available");
      await rig.advance(0.001);
      expectFields(await rig.claim(), { job_id, attempt: 2 });
    },
  },
  {
    rule,
    name: "an attempt that was lost counts for the delay of the next",
    needs: ["clock"],
    async run(rig) {
      await rig.running();
      await rig.passLease();
      const second = leaseOf(await rig.claim());
      const failure = { ...second, failure_code: "busy", retryable: true };
      expectEqual((await valueOf(rig.worker.fail(failure))).available_at, rig.at(30 + 20));
    },
  },
];

/** Fails a job again and again; each failure must say exactly this delay. */
async function expectDelays(rig: Rig, max_attempts: number, delays: readonly number[]): Promise<void> {
  await rig.enqueue({ max_attempts });
  let seconds = 0;
  for (const delay of delays) {
    const failure = { ...leaseOf(await rig.claim()), failure_code: "busy", retryable: true };
    seconds += delay;
    const answer = await valueOf(rig.worker.fail(failure));
    expectEqual(answer, { status: "queued", available_at: rig.at(seconds) });
    await rig.advance(delay * 1000);
  }
  const last = { ...leaseOf(await rig.claim()), failure_code: "busy", retryable: true };
  expectEqual(await valueOf(rig.worker.fail(last)), { status: "failed", available_at: null });
}
