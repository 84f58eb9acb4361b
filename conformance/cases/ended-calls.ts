import type { InvocationContext, JobsOperation } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import type { Rig } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";
import { operationNames, wellFormed } from "./well-formed.ts";

const rule = "calls that are over";

/** Calls that nobody waits for any more. */
export const endedCallCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a call whose signal had aborted before is cancelled and does nothing",
    async run(rig) {
      const options = { signal: AbortSignal.abort() };
      const { job_id, lease } = await rig.running();
      const before = await rig.inspect(job_id);
      const failure = { ...lease, failure_code: "busy", retryable: false };
      const refused = "runtime cancelled";
      await expectVerdict(rig.worker.complete(lease, options), refused, "complete");
      await expectVerdict(rig.worker.fail(failure, options), refused, "fail");
      await expectVerdict(rig.worker.renew(lease, options), refused, "renew");
      await expectVerdict(rig.observer.inspect({ job_id }, options), refused, "inspect");
      expectEqual(await rig.inspect(job_id), before);
      const request = rig.request();
      await expectVerdict(rig.producer.enqueue(request, options), refused, "enqueue");
      await expectVerdict(rig.worker.claim({ queue: "mail" }, options), refused, "claim");
      expectEqual((await valueOf(rig.producer.enqueue(request))).created, true, "enqueued before");
      expectFields(await rig.claim(), { attempt: 1 });
    },
  },
  {
    rule,
    name: "a call that the host calls cancelled is cancelled and does nothing",
    needs: ["endpoint"],
    run: (rig) => expectOver(rig, { cancelled: true }, "cancelled"),
  },
  {
    rule,
    name: "a call whose deadline has passed is deadline_exceeded and does nothing",
    needs: ["endpoint"],
    run: (rig) => expectOver(rig, { deadline: "PT0S" }, "deadline_exceeded"),
  },
  {
    rule,
    name: "a deadline that leaves time changes nothing",
    needs: ["endpoint"],
    async run(rig) {
      const { job_id } = await rig.enqueue();
      const context = { requestId: "1", callerInstance: "worker", cancelled: false, deadline: "PT30S" };
      const outcome = await rig.endpoint().invokeRequest("claim", context, { queue: "mail" });
      expectEqual(outcome.kind, "success");
      expectFields(await rig.inspect(job_id), { status: "running", attempts: 1 });
    },
  },
  {
    rule,
    name: "a call that is over is still judged by role and bounds first",
    needs: ["endpoint"],
    async run(rig) {
      const wrong: readonly (readonly [JobsOperation, object, string])[] = [
        ["claim", { queue: "none" }, "invalid_queue"],
        ["complete", { job_id: "x" }, "invalid_lease"],
        ["enqueue", { max_attempts: 0 }, "invalid_job"],
        ["fail", { failure_code: "" }, "invalid_failure"],
        ["inspect", { job_id: "x" }, "job_not_found"],
        ["renew", { lease_token: "x" }, "invalid_lease"],
      ];
      for (const [operation, change, value] of wrong) {
        const { caller, request } = wellFormed(rig)[operation];
        const payload = { ...request, ...change };
        const over = { requestId: "1", cancelled: true };
        const ask = (callerInstance: string) =>
          rig.endpoint().invokeRequest(operation, { ...over, callerInstance }, payload);
        expectEqual(await ask(caller), { kind: "domain", value }, operation);
        expectEqual(await ask("stranger"), { kind: "domain", value: "unauthorized" }, operation);
      }
    },
  },
];

/** Every operation answers with this kind, and leaves everything as it was. */
async function expectOver(rig: Rig, ends: Partial<InvocationContext>, kind: string): Promise<void> {
  const waiting = await rig.enqueue();
  const running = await rig.running({ queue: "other" });
  const before = [await rig.inspect(waiting.job_id), await rig.inspect(running.job_id)];
  const requests: Partial<Record<JobsOperation, object>> = {
    claim: { queue: waiting.request.queue },
    complete: running.lease,
    fail: { ...running.lease, failure_code: "busy", retryable: true },
    inspect: { job_id: running.job_id },
    renew: running.lease,
  };
  const fresh = wellFormed(rig);
  for (const operation of operationNames) {
    const { caller, request } = fresh[operation];
    const context = { requestId: "1", callerInstance: caller, cancelled: false, ...ends };
    const outcome = await rig.endpoint().invokeRequest(operation, context, requests[operation] ?? request);
    const came = outcome.kind === "runtime" ? outcome.failure.kind : outcome.kind;
    expectEqual(came, kind, operation);
  }
  expectEqual([await rig.inspect(waiting.job_id), await rig.inspect(running.job_id)], before);
  const again = await rig.handle("producer").invoke("enqueue", fresh.enqueue.request);
  expectFields(again.kind === "success" ? (again.value as object) : {}, { created: true }, "enqueued before");
}
