import type { LeaseRequest } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import { leaseOf, type Rig } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";
import { nobodys } from "./well-formed.ts";

const rule = "fencing";

/** What a worker may try with a lease. */
export const leaseCalls: Readonly<Record<LeaseCall, (rig: Rig, lease: LeaseRequest) => Promise<Answer>>> = {
  renew: (rig, lease) => rig.worker.renew(lease),
  complete: (rig, lease) => rig.worker.complete(lease),
  fail: (rig, lease) => rig.worker.fail({ ...lease, failure_code: "late", retryable: true }),
};

/** The calls that a lease is needed for. */
export type LeaseCall = "renew" | "complete" | "fail";
type Answer = Awaited<ReturnType<Rig["worker"]["renew" | "complete" | "fail"]>>;

/** All of {@link leaseCalls}, by name. */
export const leaseCallNames: readonly LeaseCall[] = ["renew", "complete", "fail"];

/** A lease is proven by job, token and owner. */
export const fencingCases: readonly ConformanceCase[] = [
  ...leaseCallNames.map(
    (name): ConformanceCase => ({
      rule,
      name: `${name} under a lease whose job was handed out again is refused and changes nothing`,
      async run(rig) {
        const { job_id, lease: old } = await rig.running();
        await rig.passLease();
        const current = leaseOf(await rig.claim());
        const before = await rig.inspect(job_id);
        await expectVerdict(leaseCalls[name](rig, old), "invalid_lease");
        expectEqual(await rig.inspect(job_id), before);
        await expectVerdict(leaseCalls[name](rig, current), "ok");
      },
    }),
  ),
  ...leaseCallNames.map(
    (name): ConformanceCase => ({
      rule,
      name: `${name} by another worker that has the token is refused and changes nothing`,
      async run(rig) {
        const { job_id, lease } = await rig.running();
        const before = await rig.inspect(job_id);
        const stolen = { ...rig, worker: rig.worker2 };
        await expectVerdict(leaseCalls[name](stolen, lease), "invalid_lease");
        expectEqual(await rig.inspect(job_id), before);
        await expectVerdict(leaseCalls[name](rig, lease), "ok");
      },
    }),
  ),
  ...leaseCallNames.map(
    (name): ConformanceCase => ({
      rule,
      name: `${name} with the token of another job is refused, although worker and attempt are the same`,
      async run(rig) {
        const first = await rig.running();
        const second = await rig.running();
        const before = await rig.inspect(first.job_id);
        const crossed = { job_id: first.job_id, lease_token: second.lease.lease_token };
        await expectVerdict(leaseCalls[name](rig, crossed), "invalid_lease");
        expectEqual(await rig.inspect(first.job_id), before);
      },
    }),
  ),
  ...leaseCallNames.map(
    (name): ConformanceCase => ({
      rule,
      name: `${name} with a token that nobody was given is refused`,
      async run(rig) {
        const { job_id } = await rig.running();
        await expectVerdict(leaseCalls[name](rig, { ...nobodys, job_id }), "invalid_lease");
        expectFields(await rig.inspect(job_id), { status: "running", attempts: 1 });
      },
    }),
  ),
  {
    rule,
    name: "the tokens of all earlier attempts open no later one",
    async run(rig) {
      const { job_id, lease } = await rig.running({ max_attempts: 4 });
      const old = [lease];
      await valueOf(rig.worker.fail({ ...lease, failure_code: "busy", retryable: true }));
      await rig.passDelay();
      old.push(leaseOf(await rig.claim()));
      await rig.passLease();
      const current = leaseOf(await rig.claim());
      for (const each of old) {
        for (const name of leaseCallNames)
          await expectVerdict(leaseCalls[name](rig, each), "invalid_lease", name);
      }
      expectFields(await rig.inspect(job_id), { status: "running", attempts: 3 });
      expectEqual(await valueOf(rig.worker.complete(current)), { completed: true });
    },
  },
];
