import { describe, expect, test } from "bun:test";
import type { InvocationContext, JobsOperation } from "../../capability/index.ts";
import { backends, type Caller, open } from "./support/backends.ts";
import { jobRequest } from "./support/given.ts";

const lease = { job_id: `job_${"A".repeat(24)}`, lease_token: `job_lease_${"A".repeat(43)}` };

interface Case {
  readonly operation: JobsOperation;
  readonly caller: Caller;
  readonly fine: object;
  /** Out of its bounds, and what that is called. */
  readonly wrong: readonly (readonly [change: object, code: string])[];
}

const cases: readonly Case[] = [
  {
    operation: "claim",
    caller: "worker",
    fine: { queue: "mail" },
    wrong: [[{ queue: "none" }, "invalid_queue"]],
  },
  {
    operation: "complete",
    caller: "worker",
    fine: lease,
    wrong: [
      [{ job_id: "j" }, "invalid_lease"],
      [{ lease_token: "t" }, "invalid_lease"],
    ],
  },
  { operation: "renew", caller: "worker", fine: lease, wrong: [[{ lease_token: "t" }, "invalid_lease"]] },
  {
    operation: "fail",
    caller: "worker",
    fine: { ...lease, failure_code: "busy", retryable: true },
    wrong: [
      [{ job_id: "j" }, "invalid_lease"],
      [{ failure_code: "not a code" }, "invalid_failure"],
    ],
  },
  {
    operation: "enqueue",
    caller: "producer",
    fine: jobRequest(),
    wrong: [
      [{ queue: "none" }, "invalid_job"],
      [{ kind: "" }, "invalid_job"],
      [{ max_attempts: 0 }, "invalid_job"],
      [{ available_at: "tomorrow" }, "invalid_job"],
      [{ payload: { big: 2 ** 53 } }, "invalid_job"],
    ],
  },
  {
    operation: "inspect",
    caller: "observer",
    fine: { job_id: lease.job_id },
    wrong: [[{ job_id: "j" }, "job_not_found"]],
  },
];

/** Calls that nobody waits for any more, and one whose deadline is no duration. */
const over: readonly (readonly [string, Partial<InvocationContext>, string])[] = [
  ["cancelled", { cancelled: true }, "cancelled"],
  ["aborted", { signal: AbortSignal.abort() }, "cancelled"],
  ["past its deadline", { deadline: "PT0S" }, "deadline_exceeded"],
  ["under a deadline that is none", { deadline: "soon" }, "protocol_violation"],
];

describe.each(backends)("a call that is over before it begins, %s", (backend) => {
  test.each(over)("%s is judged by role, shape and bounds first", async (_, ends, kind) => {
    await using bundle = await open(backend);
    const ask = (operation: string, callerInstance: string, payload: object) =>
      bundle.endpoint.invokeRequest(
        operation,
        { requestId: "1", callerInstance, cancelled: false, ...ends },
        payload,
      );
    for (const { operation, caller, fine, wrong } of cases) {
      for (const [change, value] of wrong) {
        const outcome = await ask(operation, caller, { ...fine, ...change });
        expect({ operation, change, outcome }).toEqual({
          operation,
          change,
          outcome: { kind: "domain", value },
        });
        const stranger = await ask(operation, "stranger", { ...fine, ...change });
        expect(stranger).toEqual({ kind: "domain", value: "unauthorized" });
      }
      const shapeless = await ask(operation, caller, {});
      expect(shapeless).toMatchObject({ kind: "runtime", failure: { kind: "protocol_violation" } });
      const outcome = await ask(operation, caller, fine);
      expect({ operation, outcome }).toMatchObject({ outcome: { kind: "runtime", failure: { kind } } });
    }
  });
});
