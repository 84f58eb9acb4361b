import { describe, expect, test } from "bun:test";
import {
  bindJobsProvider,
  createJobsClient,
  handleFromInvoke,
  type InvocationContext,
  type JobsProvider,
  jobsCapability,
  type ProviderDispatchOutcome,
  RuntimeFailureError,
  runtimeFailureKinds,
} from "../../capability/index.ts";
import { backends, open } from "./support/backends.ts";
import { jobRequest } from "./support/given.ts";

const context: InvocationContext = { requestId: "1", callerInstance: "worker", cancelled: false };
const descriptor = {
  capability_id: "lenso.jobs@1",
  descriptor_version: "1.0.0",
  portable: true,
  cross_lane_transfer: true,
  operations: ["claim", "complete", "enqueue", "fail", "inspect", "renew"],
  stream_operations: [],
  event_operations: [],
};

/** A provider whose every method does the same. */
function providerOf(
  method: (context: InvocationContext, request: unknown) => Promise<unknown>,
): JobsProvider {
  const names = jobsCapability.descriptor.operations;
  return Object.fromEntries(names.map((name) => [name, method])) as unknown as JobsProvider;
}

/** A method that fails with anything, as foreign code may do. */
const rejecting = (reason: unknown) => async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  reject(reason);
  return await promise;
};

const thrownText = "text of a getter's error";
const throwing = (): never => {
  throw new Error(thrownText);
};
const throwingProxy = (target: object): object =>
  new Proxy(target, {
    get: throwing,
    has: throwing,
    ownKeys: throwing,
    getPrototypeOf: throwing,
    getOwnPropertyDescriptor: throwing,
  });
function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const answering = (outcome: unknown) =>
  createJobsClient({ invoke: async () => outcome as ProviderDispatchOutcome });

describe.each(backends)("the endpoint, %s", (backend) => {
  test("announces lenso.jobs@1 with its six operations", async () => {
    await using bundle = await open(backend);
    expect(bundle.endpoint.descriptor).toEqual(descriptor);
  });

  test("an operation that there is none of is unknown, whoever asks", async () => {
    await using bundle = await open(backend);
    for (const caller of ["worker", "stranger"] as const) {
      for (const operation of ["cancel", "Claim", "", "toString", "__proto__", "constructor"]) {
        const outcome = await bundle.handle(caller).invoke(operation, {});
        expect(outcome).toMatchObject({ kind: "runtime", failure: { kind: "unknown_operation" } });
      }
    }
  });

  test("values go out as plain JSON: a copy by text is the same", async () => {
    await using bundle = await open(backend);
    const enqueued = await bundle
      .handle("producer")
      .invoke("enqueue", jobRequest({ payload: { a: [1, null] } }));
    const claimed = await bundle.handle("worker").invoke("claim", { queue: "mail" });
    for (const outcome of [enqueued, claimed]) {
      expect(outcome.kind).toBe("success");
      expect(Bun.deepEquals(JSON.parse(JSON.stringify(outcome)), outcome)).toBe(true);
    }
  });

  test("a request that came over a wire, without prototypes of ours, is as good", async () => {
    await using bundle = await open(backend);
    const request = Object.assign(Object.create(null), jobRequest()) as object;
    const outcome = await bundle.handle("producer").invoke("enqueue", request);
    expect(outcome).toMatchObject({ kind: "success", value: { created: true } });
  });
});

describe("a provider's binding", () => {
  test("turns results into outcomes", async () => {
    const results: [unknown, ProviderDispatchOutcome][] = [
      [
        { ok: true, value: { completed: true } },
        { kind: "success", value: { completed: true } },
      ],
      [
        { ok: false, error: { kind: "domain", error: "invalid_lease" } },
        { kind: "domain", value: "invalid_lease" },
      ],
      [
        { ok: false, error: { kind: "runtime", error: { kind: "unavailable", detail: "d" } } },
        { kind: "runtime", failure: { kind: "unavailable", detail: "d" } },
      ],
    ];
    for (const [result, outcome] of results) {
      const binding = bindJobsProvider(providerOf(async () => result));
      const got = await binding.invokeRequest("complete", context, { job_id: "j", lease_token: "t" });
      expect(got).toEqual(outcome);
    }
  });

  test("never rejects, whatever arrives as a request", async () => {
    const binding = bindJobsProvider(providerOf(async () => ({ ok: true, value: { completed: true } })));
    const lease = { job_id: "j", lease_token: "t" };
    const requests = {
      getter: Object.defineProperty({ ...lease }, "job_id", { enumerable: true, get: throwing }),
      proxy: throwingProxy({}),
      "array proxy": throwingProxy([]),
      "revoked proxy": revokedProxy(),
      "proxy of a function": throwingProxy(() => {}),
      "getter of a prototype": Object.create({}, { lease_token: { enumerable: true, get: throwing } }),
    };
    for (const [name, request] of Object.entries(requests)) {
      const outcome = await binding.invokeRequest("complete", context, request);
      expect({ name, outcome }).toMatchObject({
        outcome: { kind: "runtime", failure: { kind: "protocol_violation" } },
      });
      expect(JSON.stringify(outcome).includes(thrownText)).toBe(false);
    }
  });

  test("never rejects, whatever arrives as an operation", async () => {
    const binding = bindJobsProvider(providerOf(async () => ({ ok: true, value: {} })));
    const operations: readonly unknown[] = [
      Symbol("claim"),
      undefined,
      null,
      1n,
      {},
      ["claim"],
      { toString: () => "claim" },
      throwingProxy({}),
      revokedProxy(),
    ];
    for (const operation of operations) {
      const outcome = await binding.invokeRequest(operation as string, context, { queue: "mail" });
      expect(outcome).toMatchObject({ kind: "runtime", failure: { kind: "unknown_operation" } });
    }
  });

  test("turns an answer that cannot be read into plugin_failure", async () => {
    const getter = Object.defineProperty({}, "ok", { get: throwing });
    for (const answer of [undefined, null, {}, { ok: false }, getter, throwingProxy({}), revokedProxy()]) {
      const binding = bindJobsProvider(providerOf(async () => answer));
      const outcome = await binding.invokeRequest("claim", context, { queue: "mail" });
      expect(outcome).toMatchObject({ kind: "runtime", failure: { kind: "plugin_failure" } });
      expect(JSON.stringify(outcome).includes(thrownText)).toBe(false);
    }
  });

  test("turns an exception into plugin_failure without its text", async () => {
    const secret = "text of an unexpected error";
    const thrown = [new Error(secret), new TypeError(secret), secret, { message: secret }, undefined, null];
    for (const error of thrown) {
      const binding = bindJobsProvider(providerOf(rejecting(error)));
      const outcome = await binding.invokeRequest("claim", context, { queue: "mail" });
      expect(outcome).toMatchObject({ kind: "runtime", failure: { kind: "plugin_failure" } });
      expect(JSON.stringify(outcome)).not.toContain(secret);
    }
  });

  test("turns an exception that is thrown at once into plugin_failure too", async () => {
    const binding = bindJobsProvider(
      providerOf(() => {
        throw new RangeError("at once");
      }),
    );
    const outcome = await binding.invokeRequest("claim", context, { queue: "mail" });
    expect(outcome).toMatchObject({ kind: "runtime", failure: { kind: "plugin_failure" } });
  });

  test("keeps the kind of a thrown runtime failure", async () => {
    for (const kind of runtimeFailureKinds) {
      const binding = bindJobsProvider(
        providerOf(() => Promise.reject(new RuntimeFailureError(kind, "why"))),
      );
      const outcome = await binding.invokeRequest("claim", context, { queue: "mail" });
      expect(outcome).toEqual({ kind: "runtime", failure: { kind, detail: "why" } });
    }
  });

  test("hands on the caller's context, and never a caller from the payload", async () => {
    let seen: InvocationContext | undefined;
    const binding = bindJobsProvider(
      providerOf(async (given) => {
        seen = given;
        return { ok: true, value: { completed: true } };
      }),
    );
    const lease = { job_id: "j", lease_token: "t" };
    await binding.invokeRequest("complete", context, lease);
    expect(seen).toEqual(context);
    const forged = { ...lease, callerInstance: "other" };
    const outcome = await binding.invokeRequest("complete", context, forged);
    expect(outcome).toMatchObject({ kind: "runtime", failure: { kind: "protocol_violation" } });
  });
});

describe("a client", () => {
  test("passes an unknown domain code on, with its payload, instead of breaking", async () => {
    const cases: [unknown, unknown][] = [
      ["from_the_future", { code: "from_the_future" }],
      [{ code: "from_the_future" }, { code: "from_the_future" }],
      [
        { code: "from_the_future", payload: { after: 3 } },
        { code: "from_the_future", payload: { after: 3 } },
      ],
      [
        { code: "from_the_future", payload: null },
        { code: "from_the_future", payload: null },
      ],
      ["no_job_available", "no_job_available"],
      [{ code: "no_job_available" }, "no_job_available"],
      ["invalid_lease", { code: "invalid_lease" }], // known to others, not to claim
    ];
    for (const [value, error] of cases) {
      const result = await answering({ kind: "domain", value }).claim({ queue: "mail" });
      expect(result).toEqual({ ok: false, error: { kind: "domain", error } } as never);
    }
  });

  test("never throws: a broken provider is a protocol violation, a throwing host internal", async () => {
    const broken: unknown[] = [
      { kind: "success", value: { completed: false } },
      { kind: "success", value: { completed: true, extra: 1 } },
      { kind: "success", value: null },
      { kind: "success" },
      { kind: "domain", value: null },
      { kind: "domain", value: { payload: 1 } },
      { kind: "domain", value: 7 },
    ];
    for (const outcome of broken) {
      const result = await answering(outcome).complete({ job_id: "j", lease_token: "t" });
      expect(result).toMatchObject({
        ok: false,
        error: { kind: "runtime", error: { kind: "protocol_violation" } },
      });
    }
    for (const outcome of [undefined, null, "text", {}, { kind: "other" }]) {
      const result = await answering(outcome).complete({ job_id: "j", lease_token: "t" });
      expect({ outcome, result }).toMatchObject({ result: { ok: false, error: { kind: "runtime" } } });
    }
    const throwing = createJobsClient({ invoke: () => Promise.reject(new Error("host")) });
    const result = await throwing.claim({ queue: "mail" });
    expect(result).toMatchObject({ ok: false, error: { kind: "runtime", error: { kind: "internal" } } });
  });

  test("never throws on an answer that throws when it is read", async () => {
    const answers = [
      Object.defineProperty({}, "completed", { enumerable: true, get: throwing }),
      throwingProxy({}),
      revokedProxy(),
    ];
    for (const value of answers) {
      const result = await answering({ kind: "success", value }).complete({ job_id: "j", lease_token: "t" });
      expect(result).toMatchObject({ ok: false, error: { error: { kind: "protocol_violation" } } });
    }
    for (const outcome of [throwingProxy({}), revokedProxy()]) {
      const result = await answering(outcome).claim({ queue: "mail" });
      expect(result).toMatchObject({ ok: false, error: { error: { kind: "internal" } } });
    }
  });

  test("of the Lenso Bun SDK's invoke gives each call a decimal id, its deadline and its signal", async () => {
    const contexts: InvocationContext[] = [];
    const client = createJobsClient(
      handleFromInvoke(async (_operation, given) => {
        contexts.push(given);
        return { kind: "domain", value: "no_job_available" };
      }),
    );
    const { signal } = new AbortController();
    await client.claim({ queue: "mail" });
    await client.claim({ queue: "mail" }, { timeoutMs: 2500, signal });
    expect(contexts).toEqual([
      { requestId: "1", cancelled: false },
      { requestId: "2", cancelled: false, deadline: "PT2.500S", signal },
    ]);
  });

  test("without a handle says what is missing", () => {
    expect(() => createJobsClient(undefined)).toThrow(/lenso\.jobs@1.*not bound/);
  });
});
