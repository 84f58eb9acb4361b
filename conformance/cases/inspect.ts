import type { InspectResponse } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import { leaseOf, type Rig } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";
import { nobodys } from "./well-formed.ts";

const rule = "evidence";

/** What `inspect` shows, and when. */
export const inspectCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a job that does not exist is job_not_found",
    run: (rig) => expectVerdict(rig.observer.inspect({ job_id: nobodys.job_id }), "job_not_found"),
  },
  {
    rule,
    name: "a claim, and the lease that it gives, date from the moment of the claim",
    needs: ["clock"],
    async run(rig) {
      const { job_id } = await rig.enqueue();
      await rig.advance(2000.001);
      expectFields(await rig.claim(), { lease_expires_at: rig.at(32.000001) });
      expectFields(await rig.inspect(job_id), {
        lease_expires_at: rig.at(32.000001),
        created_at: rig.at(0),
        updated_at: rig.at(2.000001),
      });
    },
  },
  {
    rule,
    name: "the run time of a running or ended job is that under which it was last claimed",
    needs: ["clock"],
    async run(rig) {
      const { job_id } = await rig.enqueue({ available_at: rig.at(1) });
      await rig.advance(5000);
      const first = leaseOf(await rig.claim());
      expectFields(await rig.inspect(job_id), { status: "running", available_at: rig.at(1) });
      await valueOf(rig.worker.fail({ ...first, failure_code: "busy", retryable: true }));
      expectFields(await rig.inspect(job_id), { status: "queued", available_at: rig.at(15) });
      await rig.advance(60_000);
      const second = leaseOf(await rig.claim());
      expectFields(await rig.inspect(job_id), { status: "running", available_at: rig.at(15) });
      await valueOf(rig.worker.complete(second));
      expectFields(await rig.inspect(job_id), { status: "succeeded", available_at: rig.at(15) });
    },
  },
  {
    rule,
    name: "a renewal moves the expiry to now and the lease's time, and counts as a change",
    needs: ["clock"],
    async run(rig) {
      const { job_id, lease } = await rig.running();
      await rig.advance(10_000);
      expectEqual(await valueOf(rig.worker.renew(lease)), { lease_expires_at: rig.at(40) });
      expectFields(await rig.inspect(job_id), {
        status: "running",
        attempts: 1,
        available_at: rig.at(0),
        lease_expires_at: rig.at(40),
        updated_at: rig.at(10),
      });
    },
  },
  {
    rule,
    name: "the last change is that of the state, and the time of creation never changes",
    needs: ["clock"],
    async run(rig) {
      const { job_id, lease } = await rig.running();
      await rig.advance(1000);
      await valueOf(rig.worker.fail({ ...lease, failure_code: "busy", retryable: true }));
      expectFields(await rig.inspect(job_id), { created_at: rig.at(0), updated_at: rig.at(1) });
      await rig.advance(10_000);
      const second = leaseOf(await rig.claim());
      expectFields(await rig.inspect(job_id), { created_at: rig.at(0), updated_at: rig.at(11) });
      await rig.advance(1000);
      await valueOf(rig.worker.complete(second));
      expectFields(await rig.inspect(job_id), { created_at: rig.at(0), updated_at: rig.at(12) });
    },
  },
  {
    rule,
    name: "a job that fails, by its worker or because a claim finds it exhausted, changes then and keeps its run time",
    needs: ["clock"],
    async run(rig) {
      const failing = await rig.running({ queue: "mail" });
      await rig.advance(5000);
      await valueOf(rig.worker.fail({ ...failing.lease, failure_code: "busy", retryable: false }));
      const exhausted = await rig.running({ queue: "other", max_attempts: 1 });
      await rig.advance(40_000);
      await expectVerdict(rig.worker.claim({ queue: "other" }), "no_job_available");
      await expectFailed(rig, failing.job_id, { available_at: rig.at(0), updated_at: rig.at(5) });
      await expectFailed(rig, exhausted.job_id, { available_at: rig.at(5), updated_at: rig.at(45) });
    },
  },
  {
    rule,
    name: "a job that maintenance finds exhausted changes then and keeps its run time",
    needs: ["clock", "maintain"],
    async run(rig) {
      const { job_id } = await rig.running({ max_attempts: 1 });
      await rig.advance(40_000);
      await rig.maintain();
      await expectFailed(rig, job_id, { available_at: rig.at(0), updated_at: rig.at(40) });
    },
  },
  {
    rule,
    name: "to look changes nothing, nor does a call that is refused",
    needs: ["clock"],
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const before = await rig.inspect(job_id);
      await rig.advance(1000);
      await rig.inspect(job_id);
      await expectVerdict(rig.worker2.complete(lease), "invalid_lease");
      await expectVerdict(rig.worker.renew({ ...lease, lease_token: nobodys.lease_token }), "invalid_lease");
      await expectVerdict(rig.worker.claim({ queue: "mail" }), "no_job_available");
      expectEqual(await rig.inspect(job_id), before);
    },
  },
];

async function expectFailed(rig: Rig, jobId: string, times: Partial<InspectResponse>): Promise<void> {
  expectFields(await rig.inspect(jobId), { status: "failed", ...times });
}
