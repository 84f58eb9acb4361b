import type { ConformanceCase } from "../conformance-case.ts";
import { expectAbsent, expectEqual, expectFields, expectThat } from "../expect-equal.ts";
import { leaseOf } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";
import { leaseCallNames, leaseCalls } from "./fencing.ts";

const rule = "expired leases";

/** What becomes of a lease, and of its job, once its time has passed. */
export const expiryCases: readonly ConformanceCase[] = [
  ...leaseCallNames.map(
    (name): ConformanceCase => ({
      rule,
      name: `${name} is refused once the lease has expired, also when nobody has the job since`,
      async run(rig) {
        const { job_id, lease } = await rig.running();
        await rig.passLease();
        await expectVerdict(leaseCalls[name](rig, lease), "invalid_lease");
        expectFields(await rig.inspect(job_id), { attempts: 1 });
        expectFields(await rig.claim(), { job_id, attempt: 2 });
      },
    }),
  ),
  ...leaseCallNames.map(
    (name): ConformanceCase => ({
      rule,
      name: `${name} counts up to the last microsecond of the lease, and not at the instant of its expiry`,
      needs: ["clock"],
      async run(rig) {
        const first = await rig.running({ queue: "mail" });
        const second = await rig.running({ queue: "other" });
        await rig.advance(29_999.999);
        await expectVerdict(leaseCalls[name](rig, first.lease), "ok", "a microsecond before");
        await rig.advance(0.001);
        await expectVerdict(leaseCalls[name](rig, second.lease), "invalid_lease", "at its expiry");
      },
    }),
  ),
  ...leaseCallNames.map(
    (name): ConformanceCase => ({
      rule,
      name: `${name} is refused once the lease of a later attempt has expired, be it the last`,
      async run(rig) {
        await rig.running({ queue: "mail", max_attempts: 2 });
        await rig.running({ queue: "other", max_attempts: 3 });
        await rig.passLease();
        const claims = [await rig.claim("mail"), await rig.claim("other")];
        await rig.passLease();
        for (const claim of claims) {
          const about = `attempt 2 of ${claim.max_attempts}`;
          await expectVerdict(leaseCalls[name](rig, leaseOf(claim)), "invalid_lease", about);
        }
      },
    }),
  ),
  {
    rule,
    name: "a claim takes an expired job back: one attempt more, another token, lease_expired",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      await rig.passLease();
      const again = await rig.claim();
      expectFields(again, { job_id, attempt: 2, max_attempts: 3 });
      expectThat(again.lease_token !== lease.lease_token, "another token");
      const seen = await rig.inspect(job_id);
      expectFields(seen, { status: "running", attempts: 2, last_failure_code: "lease_expired" });
      expectEqual(seen.lease_expires_at, again.lease_expires_at);
    },
  },
  {
    rule,
    name: "lease_expired replaces the worker's code, and stays after success",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      await valueOf(rig.worker.fail({ ...lease, failure_code: "smtp.451", retryable: true }));
      await rig.passDelay();
      await rig.claim();
      await rig.passLease();
      const last = leaseOf(await rig.claim());
      expectFields(await rig.inspect(job_id), { attempts: 3, last_failure_code: "lease_expired" });
      await valueOf(rig.worker.complete(last));
      expectFields(await rig.inspect(job_id), { status: "succeeded", last_failure_code: "lease_expired" });
    },
  },
  {
    rule,
    name: "a claim that takes a job back leases it from now, however long the old lease is over",
    needs: ["clock"],
    async run(rig) {
      await rig.running();
      await rig.advance(100_000);
      expectFields(await rig.claim(), { attempt: 2, lease_expires_at: rig.at(130) });
    },
  },
  {
    rule,
    name: "a job that was taken back is handed out by its lease's expiry, under a lease from now",
    needs: ["clock", "maintain"],
    async run(rig) {
      const expired = await rig.running();
      const after = await rig.enqueue({ available_at: rig.at(31) });
      const before = await rig.enqueue({ available_at: rig.at(29) });
      await rig.advance(40_000);
      await rig.maintain();
      expectFields(await rig.claim(), { job_id: before.job_id });
      expectFields(await rig.claim(), { job_id: expired.job_id, lease_expires_at: rig.at(70) });
      expectFields(await rig.inspect(expired.job_id), { available_at: rig.at(30), updated_at: rig.at(40) });
      expectFields(await rig.claim(), { job_id: after.job_id });
    },
  },
  {
    rule,
    name: "maintenance queues an expired job again, due since its lease's expiry",
    needs: ["clock", "maintain"],
    async run(rig) {
      const { job_id } = await rig.running();
      await rig.advance(32_000);
      await rig.maintain();
      const seen = await rig.inspect(job_id);
      expectFields(seen, { status: "queued", attempts: 1, available_at: rig.at(30), updated_at: rig.at(32) });
      expectFields(seen, { last_failure_code: "lease_expired" });
      expectAbsent(seen.lease_expires_at, "lease");
      expectFields(await rig.claim(), { job_id, attempt: 2 });
    },
  },
  {
    rule,
    name: "maintenance leaves a valid lease alone, up to its last microsecond",
    needs: ["clock", "maintain"],
    async run(rig) {
      const { job_id, lease } = await rig.running();
      await rig.advance(29_999.999);
      await rig.maintain();
      expectFields(await rig.inspect(job_id), { status: "running", lease_expires_at: rig.at(30) });
      await expectVerdict(rig.worker.complete(lease), "ok");
    },
  },
  {
    rule,
    name: "a lease that maintenance took back settles nothing any more",
    needs: ["maintain"],
    async run(rig) {
      const { job_id, lease } = await rig.running();
      await rig.passLease();
      await rig.maintain();
      const before = await rig.inspect(job_id);
      expectEqual(before.status, "queued");
      for (const name of leaseCallNames)
        await expectVerdict(leaseCalls[name](rig, lease), "invalid_lease", name);
      expectEqual(await rig.inspect(job_id), before);
    },
  },
  {
    rule,
    name: "a claim of another queue leaves an expired job alone",
    needs: ["maintain"],
    async run(rig) {
      const { job_id } = await rig.running({ queue: "mail" });
      await rig.passLease();
      await expectVerdict(rig.worker.claim({ queue: "other" }), "no_job_available");
      expectFields(await rig.inspect(job_id), { status: "running", attempts: 1 });
    },
  },
];
