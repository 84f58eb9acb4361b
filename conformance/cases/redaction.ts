import { inspect } from "node:util";
import type { ProviderDispatchOutcome } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectThat } from "../expect-equal.ts";
import type { ConformanceCaller } from "../jobs-conformance.ts";
import type { Rig } from "../rig.ts";
import { valueOf } from "../verdict-of.ts";
import { nobodys } from "./well-formed.ts";

const rule = "secrets";

/** No payload, key or token in anything that may be printed. */
export const redactionCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a printed claim shows neither its payload nor its token",
    async run(rig) {
      const secret = canary();
      await rig.enqueue({ payload: { secret, deep: [{ [secret]: 1 }] } });
      const outcome = await rig.handle("worker").invoke("claim", { queue: "mail" });
      expectThat(outcome.kind === "success", "a claim");
      const { lease_token } = (outcome as unknown as { value: { lease_token: string } }).value;
      expectSilent(outcome, secret, "the payload");
      expectSilent(outcome, lease_token, "the token");
    },
  },
  {
    rule,
    name: "a claim gives the worker payload and token in full",
    async run(rig) {
      const secret = canary();
      const { claim } = await rig.running({ payload: { secret } });
      expectThat(claim.payload["secret"] === secret, "the payload in a claim");
      expectThat(
        JSON.stringify(claim).includes(claim.lease_token),
        "the token in a claim that travels as JSON",
      );
    },
  },
  {
    rule,
    name: "no refusal of an enqueue shows the payload",
    async run(rig) {
      const secret = canary();
      const { request } = await rig.enqueue({ payload: { secret } });
      const payloads: readonly unknown[] = [
        { secret, bad: Number.NaN },
        { [secret]: undefined },
        { [`${secret}\0`]: 1 },
        { secret, fill: "a".repeat(262_144) },
        secret,
        [secret],
      ];
      for (const payload of payloads)
        await expectRefused(rig, "producer", "enqueue", { ...rig.request(), payload }, [secret]);
      const conflicting = { ...request, payload: { secret, other: 1 } };
      await expectRefused(rig, "producer", "enqueue", conflicting, [secret]);
      await expectRefused(rig, "stranger", "enqueue", conflicting, [secret]);
      await expectRefused(rig, "producer", "enqueue", { ...request, extra: secret }, [secret]);
    },
  },
  {
    rule,
    name: "no refusal of an enqueue shows the key",
    async run(rig) {
      const secret = canary();
      const { request } = await rig.enqueue({ idempotency_key: secret });
      const conflicting = { ...request, kind: "mail.other" };
      await expectRefused(rig, "producer", "enqueue", conflicting, [secret]);
      await expectRefused(rig, "producer", "enqueue", { ...request, max_attempts: 0 }, [secret]);
      await expectRefused(rig, "producer", "enqueue", { ...request, max_attempts: "0" }, [secret]);
    },
  },
  {
    rule,
    name: "no refusal of renew, complete or fail shows the token",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const { lease_token: token } = lease;
      const failure = { failure_code: "busy", retryable: true };
      for (const operation of ["renew", "complete", "fail"] as const) {
        const request = operation === "fail" ? { ...lease, ...failure } : lease;
        await expectRefused(rig, "worker2", operation, request, [token]);
        await expectRefused(rig, "stranger", operation, request, [token]);
        await expectRefused(rig, "worker", operation, { ...request, job_id: nobodys.job_id }, [token]);
        await expectRefused(rig, "worker", operation, { ...request, job_id: token }, [token]);
        await expectRefused(rig, "worker", operation, { ...request, job_id: { job_id, token } }, [token]);
        await expectRefused(rig, "worker", operation, { ...request, extra: token }, [token]);
      }
      const code = { ...lease, failure_code: `${token} `, retryable: true };
      await expectRefused(rig, "worker", "fail", code, [token]);
    },
  },
  {
    rule,
    name: "neither a call that is over nor one of an unknown operation shows what it sent",
    needs: ["endpoint"],
    async run(rig) {
      const secret = canary();
      const request = rig.request({ payload: { secret }, idempotency_key: secret });
      for (const operation of ["enqueue", "nothing"]) {
        for (const over of [{ cancelled: true }, { cancelled: false, deadline: "PT0S" }]) {
          const context = { requestId: "1", callerInstance: "producer", ...over };
          const outcome = await rig.endpoint().invokeRequest(operation, context, request);
          expectThat(outcome.kind !== "success", `${operation} to be refused`);
          expectSilent(outcome, secret, `what ${operation} sent`);
        }
      }
      await expectRefused(rig, "producer", "nothing", request, [secret]);
    },
  },
  {
    rule,
    name: "evidence shows no payload, no key and no token",
    async run(rig) {
      const secret = canary();
      const { job_id, lease } = await rig.running({ payload: { secret }, idempotency_key: secret });
      const seen = JSON.stringify(await valueOf(rig.observer.inspect({ job_id })));
      expectThat(!seen.includes(secret) && !seen.includes(lease.lease_token), "evidence without a secret");
    },
  },
];

/** A text that must not come out anywhere, of the characters of a name. It is never part of a failure's message. */
function canary(): string {
  return `${"CANARY"}-${crypto.randomUUID().replaceAll("-", "")}`;
}

async function expectRefused(
  rig: Rig,
  caller: ConformanceCaller,
  operation: string,
  payload: unknown,
  secrets: readonly string[],
): Promise<void> {
  const outcome = await rig.handle(caller).invoke(operation, payload);
  expectThat(outcome.kind !== "success", `${operation} to be refused`);
  for (const secret of secrets) {
    expectSilent(outcome, secret, `what ${operation} sent`);
    expectThat(!JSON.stringify(outcome).includes(secret), `a refusal of ${operation} without a secret`);
  }
}

/** No printed form of the outcome holds the text, wherever it is nested. */
function expectSilent(outcome: ProviderDispatchOutcome, secret: string, what: string): void {
  for (const value of [outcome, [outcome], { a: { b: outcome } }]) {
    const printed = inspect(value, { depth: 20, showHidden: true });
    expectThat(!printed.includes(secret), `no printed form to show ${what}`);
  }
}
