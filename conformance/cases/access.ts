import type { JobsOperation } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual } from "../expect-equal.ts";
import { type ConformanceCaller, conformanceCallers } from "../jobs-conformance.ts";
import type { Rig } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";
import { nobodys, operationNames, rawVerdict, wellFormed } from "./well-formed.ts";

const rule = "who may call";
const ofWorkers: readonly JobsOperation[] = ["claim", "complete", "fail", "inspect", "renew"];

/** What each caller may do, by the usual configuration. */
const mayDo: Readonly<Record<ConformanceCaller, readonly JobsOperation[]>> = {
  producer: ["enqueue", "inspect"],
  producer2: ["enqueue", "inspect"],
  worker: ofWorkers,
  worker2: ofWorkers,
  observer: ["inspect"],
  stranger: [],
};

/** Values of the right types that are out of their bounds. */
const outOfBounds: Readonly<Record<JobsOperation, object>> = {
  claim: { queue: "no such queue" },
  complete: { job_id: "x" },
  enqueue: { max_attempts: 0 },
  fail: { failure_code: "" },
  inspect: { job_id: "x" },
  renew: { lease_token: "x" },
};

/** Roles, operation by operation, and what is judged first. */
export const accessCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a producer may enqueue and inspect, and nothing else",
    run: (rig) => expectRole(rig, ["producer", "producer2"], mayDo.producer),
  },
  {
    rule,
    name: "a worker may claim, renew, complete, fail and inspect, and not enqueue",
    run: (rig) => expectRole(rig, ["worker", "worker2"], ofWorkers),
  },
  {
    rule,
    name: "an observer may inspect, and nothing else",
    run: (rig) => expectRole(rig, ["observer"], ["inspect"]),
  },
  {
    rule,
    name: "a caller without a role may do nothing",
    run: (rig) => expectRole(rig, ["stranger"], []),
  },
  {
    rule,
    name: "a call without a caller's identity may do nothing",
    needs: ["endpoint"],
    async run(rig) {
      const requests = wellFormed(rig);
      for (const operation of operationNames) {
        for (const identity of [{}, { callerInstance: "" }, { callerInstance: "nobody" }]) {
          const context = { requestId: "1", cancelled: false, ...identity };
          const outcome = await rig.endpoint().invokeRequest(operation, context, requests[operation].request);
          expectEqual(outcome, { kind: "domain", value: "unauthorized" }, operation);
        }
      }
    },
  },
  {
    rule,
    name: "an identity that only resembles one of the lists may do nothing",
    needs: ["endpoint"],
    async run(rig) {
      const requests = wellFormed(rig);
      for (const operation of operationNames) {
        const { caller, request } = requests[operation];
        const capital = caller.charAt(0).toUpperCase() + caller.slice(1);
        const alike = [capital, caller.toUpperCase(), ` ${caller}`, `${caller} `, `${caller}22`];
        for (const callerInstance of [...alike, caller.slice(0, -1)]) {
          const context = { requestId: "1", cancelled: false, callerInstance };
          const outcome = await rig.endpoint().invokeRequest(operation, context, request);
          expectEqual(
            outcome,
            { kind: "domain", value: "unauthorized" },
            `${operation}, "${callerInstance}"`,
          );
        }
      }
    },
  },
  {
    rule,
    name: "who may not call never learns whether its values were valid",
    async run(rig) {
      const requests = wellFormed(rig);
      for (const operation of operationNames) {
        const payload = { ...requests[operation].request, ...outOfBounds[operation] };
        for (const caller of conformanceCallers.filter((each) => !mayDo[each].includes(operation)))
          expectEqual(
            await rawVerdict(rig, caller, operation, payload),
            "unauthorized",
            `${operation}, ${caller}`,
          );
      }
    },
  },
  {
    rule,
    name: "an Instance in several lists may do what each of them allows",
    configuration: {
      producer_instances: ["worker"],
      worker_instances: ["worker"],
      observer_instances: ["worker", "observer"],
    },
    async run(rig) {
      await expectRole(rig, ["worker"], operationNames);
      await expectRole(rig, ["producer", "worker2"], []);
      await expectRole(rig, ["observer"], ["inspect"]);
    },
  },
  {
    rule,
    name: "without observers the producers and workers may inspect",
    configuration: { observer_instances: [] },
    async run(rig) {
      const { job_id } = await rig.enqueue();
      for (const caller of conformanceCallers) {
        const wanted = caller === "observer" || caller === "stranger" ? "unauthorized" : "ok";
        await expectVerdict(rig[caller].inspect({ job_id }), wanted, caller);
      }
    },
  },
  {
    rule,
    name: "every role may inspect any job, whoever enqueued or claimed it",
    async run(rig) {
      const { job_id } = await rig.enqueue();
      const running = await rig.running({ queue: "other" });
      for (const caller of ["producer", "producer2", "worker", "worker2", "observer"] as const) {
        expectEqual((await valueOf(rig[caller].inspect({ job_id }))).status, "queued", caller);
        const seen = await valueOf(rig[caller].inspect({ job_id: running.job_id }));
        expectEqual(seen.status, "running", caller);
      }
    },
  },
  {
    rule,
    name: "fail judges id and token before the code, and the code before the lease",
    async run(rig) {
      const code = { failure_code: "no blanks", retryable: true };
      await expectVerdict(rig.worker.fail({ ...nobodys, ...code, job_id: "x" }), "invalid_lease");
      await expectVerdict(rig.worker.fail({ ...nobodys, ...code, lease_token: "x" }), "invalid_lease");
      await expectVerdict(rig.worker.fail({ ...nobodys, ...code }), "invalid_failure");
    },
  },
  {
    rule,
    name: "a queue that is not configured is invalid_job to a producer and invalid_queue to a worker",
    async run(rig) {
      for (const queue of ["not.configured", "Mail", "mail/", ""]) {
        await expectVerdict(rig.producer.enqueue(rig.request({ queue })), "invalid_job", queue);
        await expectVerdict(rig.worker.claim({ queue }), "invalid_queue", queue);
      }
    },
  },
];

/** What each operation answers, to those who may call it, when it finds nothing. */
const nothingFound: Readonly<Record<JobsOperation, string>> = {
  claim: "no_job_available",
  complete: "invalid_lease",
  enqueue: "success",
  fail: "invalid_lease",
  inspect: "job_not_found",
  renew: "invalid_lease",
};

/** Each of the callers may do these operations, and is refused the others, whatever there is to be had. */
async function expectRole(
  rig: Rig,
  callers: readonly ConformanceCaller[],
  allowed: readonly JobsOperation[],
): Promise<void> {
  const requests = wellFormed(rig);
  for (const caller of callers) {
    for (const operation of operationNames) {
      const wanted = allowed.includes(operation) ? nothingFound[operation] : "unauthorized";
      const verdict = await rawVerdict(rig, caller, operation, requests[operation].request);
      expectEqual(verdict, wanted, `${operation} by ${caller}`);
    }
  }
}
