import { describe, expect, test } from "bun:test";
import type { JobsOperation } from "../../capability/index.ts";
import { backends, type Caller, open } from "./support/backends.ts";
import { jobRequest } from "./support/given.ts";

const lease = { job_id: `job_${"A".repeat(24)}`, lease_token: `job_lease_${"A".repeat(43)}` };

/** A request of each operation that has the right shape, and who may send it. */
const requests: Record<
  JobsOperation,
  { readonly caller: Caller; readonly request: Record<string, unknown> }
> = {
  claim: { caller: "worker", request: { queue: "other" } },
  complete: { caller: "worker", request: lease },
  enqueue: { caller: "producer", request: { ...jobRequest() } },
  fail: { caller: "worker", request: { ...lease, failure_code: "busy", retryable: true } },
  inspect: { caller: "observer", request: { job_id: lease.job_id } },
  renew: { caller: "worker", request: lease },
};

const operations = Object.keys(requests) as JobsOperation[];
const violation = "runtime protocol_violation";

describe.each(backends)("the shape of a request, %s", (backend) => {
  const ask = async (
    bundle: Awaited<ReturnType<typeof open>>,
    operation: JobsOperation,
    payload: unknown,
  ) => {
    const got = await bundle.handle(requests[operation].caller).invoke(operation, payload);
    return got.kind === "runtime" ? `runtime ${got.failure.kind}` : got.kind;
  };

  test("anything but an object is a protocol violation", async () => {
    await using bundle = await open(backend);
    for (const operation of operations) {
      for (const payload of [undefined, null, true, 1, "text", [], [requests[operation].request], () => {}]) {
        expect({ operation, got: await ask(bundle, operation, payload) }).toEqual({
          operation,
          got: violation,
        });
      }
    }
  });

  test("a missing key is a protocol violation", async () => {
    await using bundle = await open(backend);
    for (const operation of operations) {
      const { request } = requests[operation];
      for (const key of Object.keys(request)) {
        const { [key]: _, ...rest } = request;
        expect({ operation, key, got: await ask(bundle, operation, rest) }).toEqual({
          operation,
          key,
          got: violation,
        });
      }
    }
  });

  test.each(["extra", "Queue", "caller", "callerInstance", ""])(
    "an unknown key %p is a protocol violation",
    async (key) => {
      await using bundle = await open(backend);
      for (const operation of operations) {
        const payload = { ...requests[operation].request, [key]: "x" };
        expect({ operation, got: await ask(bundle, operation, payload) }).toEqual({
          operation,
          got: violation,
        });
      }
    },
  );

  test.each(["constructor", "toString", "hasOwnProperty", "__proto__"])(
    "an unknown key %p that every object inherits is one too",
    async (key) => {
      await using bundle = await open(backend);
      for (const operation of operations) {
        const text = JSON.stringify({ ...requests[operation].request, KEY: "x" }).replace(
          '"KEY"',
          `"${key}"`,
        );
        const got = await ask(bundle, operation, JSON.parse(text));
        expect({ operation, got }).toEqual({ operation, got: violation });
      }
    },
  );

  test("a value of another JSON type is a protocol violation", async () => {
    await using bundle = await open(backend);
    for (const operation of operations) {
      const { request } = requests[operation];
      for (const [key, value] of Object.entries(request)) {
        const others = [null, true, 1, "text", [], {}, undefined].filter(
          (other) => !isSameType(other, value),
        );
        for (const other of others) {
          const got = await ask(bundle, operation, { ...request, [key]: other });
          expect({ operation, key, other, got }).toEqual({ operation, key, other, got: violation });
        }
      }
    }
  });

  test("a number that JSON cannot hold is a protocol violation", async () => {
    await using bundle = await open(backend);
    for (const max_attempts of [Number.NaN, 3n]) {
      const got = await ask(bundle, "enqueue", { ...requests.enqueue.request, max_attempts });
      expect(got).toEqual(violation);
    }
  });

  test("a violation's detail names the key and never the value", async () => {
    await using bundle = await open(backend);
    const secret = `${"CANARY"}-${crypto.randomUUID().replaceAll("-", "")}`;
    for (const [request, named] of [
      [{ ...lease, lease_token: [secret] }, "lease_token"],
      [{ ...lease, job_id: { secret } }, "job_id"],
      [{ ...lease, lease_token: secret, extra: secret }, "extra"],
    ] as const) {
      const got = await bundle.handle("worker").invoke("complete", request);
      const detail = got.kind === "runtime" ? got.failure.detail : "";
      expect(detail.includes(named)).toBe(true);
      expect(detail.includes(secret)).toBe(false);
    }
  });
});

function isSameType(a: unknown, b: unknown): boolean {
  const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject(a) || isObject(b) ? isObject(a) && isObject(b) : typeof a === typeof b;
}
