import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields } from "../expect-equal.ts";
import { leaseOf } from "../rig.ts";
import { valueOf } from "../verdict-of.ts";
import { operationNames, rawVerdict, wellFormed } from "./well-formed.ts";

const rule = "requests and answers are closed";
const violation = "runtime protocol_violation";

/** Requests and answers are closed objects. */
export const requestCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a request that is no object is a protocol violation",
    async run(rig) {
      const requests = wellFormed(rig);
      for (const operation of operationNames) {
        const { caller, request } = requests[operation];
        for (const payload of [undefined, null, true, 1, "text", [], [request], Object.entries(request)])
          expectEqual(await rawVerdict(rig, caller, operation, payload), violation, operation);
      }
    },
  },
  {
    rule,
    name: "a request that lacks a field is a protocol violation",
    async run(rig) {
      const requests = wellFormed(rig);
      for (const operation of operationNames) {
        const { caller, request } = requests[operation];
        for (const key of Object.keys(request)) {
          const { [key]: _, ...rest } = request;
          expectEqual(
            await rawVerdict(rig, caller, operation, rest),
            violation,
            `${operation} without ${key}`,
          );
        }
      }
    },
  },
  {
    rule,
    name: "a request with an unknown field is a protocol violation",
    async run(rig) {
      const requests = wellFormed(rig);
      for (const operation of operationNames) {
        const { caller, request } = requests[operation];
        for (const key of ["extra", "callerInstance", ""]) {
          const payload = { ...request, [key]: "x" };
          expectEqual(await rawVerdict(rig, caller, operation, payload), violation, operation);
        }
      }
    },
  },
  {
    rule,
    name: "a field of another JSON type is a protocol violation",
    async run(rig) {
      const requests = wellFormed(rig);
      const values = ["1", 1, true, null, [1], { a: 1 }];
      for (const operation of operationNames) {
        const { caller, request } = requests[operation];
        for (const [key, value] of Object.entries(request)) {
          for (const other of values.filter((each) => typeOf(each) !== typeOf(value))) {
            const payload = { ...request, [key]: other };
            expectEqual(await rawVerdict(rig, caller, operation, payload), violation, `${operation} ${key}`);
          }
        }
      }
    },
  },
  {
    rule,
    name: "a request is decoded before anybody's role is looked at",
    async run(rig) {
      for (const operation of operationNames)
        expectEqual(await rawVerdict(rig, "stranger", operation, { wrong: 1 }), violation, operation);
    },
  },
  {
    rule,
    name: "an operation that the contract does not have is unknown",
    async run(rig) {
      for (const operation of ["cancel", "Claim", "", "toString", "constructor", "__proto__"]) {
        const verdict = await rawVerdict(rig, "worker", operation, { queue: "mail" });
        expectEqual(verdict, "runtime unknown_operation", operation);
      }
    },
  },
  {
    rule,
    name: "the descriptor names the six operations and nothing else",
    needs: ["endpoint"],
    async run(rig) {
      const { descriptor } = rig.endpoint();
      expectFields(descriptor, {
        capability_id: "lenso.jobs@1",
        descriptor_version: "1.0.0",
        portable: true,
        cross_lane_transfer: true,
        stream_operations: [],
        event_operations: [],
      });
      expectEqual([...descriptor.operations].sort(), operationNames);
    },
  },
  {
    rule,
    name: "each answer has the fields of the contract and no other",
    async run(rig) {
      const lease = ["job_id", "lease_token"];
      const { job_id, claim } = await rig.running();
      const wanted = [...lease, "queue", "kind", "payload", "attempt", "max_attempts", "lease_expires_at"];
      expectEqual(Object.keys(claim).sort(), wanted.sort(), "claim");
      expectEqual(Object.keys(await valueOf(rig.producer.enqueue(rig.request()))).sort(), [
        "created",
        "job_id",
      ]);
      expectEqual(Object.keys(await valueOf(rig.worker.renew(leaseOf(claim)))), ["lease_expires_at"]);
      const evidence = ["job_id", "queue", "kind", "status", "attempts", "max_attempts", "available_at"];
      const optional = ["lease_expires_at", "last_failure_code"];
      const seen = Object.keys(await rig.inspect(job_id)).filter((key) => !optional.includes(key));
      expectEqual(seen.sort(), [...evidence, "created_at", "updated_at"].sort(), "inspect");
      expectEqual(await valueOf(rig.worker.complete(leaseOf(claim))), { completed: true });
      const failure = { ...leaseOf(await rig.claim()), failure_code: "busy", retryable: false };
      expectEqual(await valueOf(rig.worker.fail(failure)), { status: "failed", available_at: null });
    },
  },
];

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
