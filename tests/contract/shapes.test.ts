import { describe, expect, test } from "bun:test";
import { runInNewContext } from "node:vm";
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

  test.each<[string, (request: Record<string, unknown>) => unknown]>([
    ["an array of its entries", (request) => Object.entries(request)],
    ["an array with its keys", (request) => Object.assign([], request)],
    ["a Map", (request) => new Map(Object.entries(request))],
    ["a Map with its keys", (request) => Object.assign(new Map(), request)],
    ["an instance of a class", (request) => Object.assign(new (class Request {})(), request)],
    ["a function with its keys", (request) => Object.assign(() => {}, request)],
    ["an object that inherits its keys", (request) => Object.create(request)],
    ["an object that inherits some more", (request) => Object.assign(Object.create({ extra: 1 }), request)],
    [
      "an object with a hidden key",
      (request) => Object.defineProperty({ ...request }, "hidden", { value: 1 }),
    ],
    ["an object whose keys are hidden", (request) => hidden(request)],
    ["an object with a symbol as key", (request) => ({ ...request, [Symbol("key")]: 1 })],
    ["an array of another realm", (request) => runInNewContext("Object.assign([], request)", { request })],
    [
      "a Map of another realm",
      (request) => runInNewContext("Object.assign(new Map(), request)", { request }),
    ],
  ])("%s is a protocol violation", async (_name, make) => {
    await using bundle = await open(backend);
    for (const operation of operations) {
      const got = await ask(bundle, operation, make(requests[operation].request));
      expect({ operation, got }).toEqual({ operation, got: violation });
    }
  });

  test("a plain object of another realm is as good as one of this, in all its depth", async () => {
    await using bundle = await open(backend);
    const elsewhere = (value: unknown): unknown =>
      runInNewContext("JSON.parse(text)", { text: JSON.stringify(value) });
    const payload = { to: "ada", deep: [{ a: [1, null, { b: true }] }] };
    const request = elsewhere(jobRequest({ payload }));
    expect(Object.getPrototypeOf(request) === Object.prototype).toBe(false);
    expect(await ask(bundle, "enqueue", request)).toBe("success");
    const mixed = { ...jobRequest(), payload: elsewhere(payload) };
    expect(await ask(bundle, "enqueue", mixed)).toBe("success");
    for (const _ of [1, 2]) {
      const claimed = await bundle.handle("worker").invoke("claim", elsewhere({ queue: "mail" }));
      expect(claimed).toMatchObject({ kind: "success", value: { payload } });
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

function hidden(request: Record<string, unknown>): object {
  const made = {};
  for (const [key, value] of Object.entries(request)) Object.defineProperty(made, key, { value });
  return made;
}
