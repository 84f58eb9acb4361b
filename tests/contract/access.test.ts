import { describe, expect, test } from "bun:test";
import type { JobsOperation, ProviderDispatchOutcome } from "../../capability/index.ts";
import { backends, type Caller, callers, open, pluginOf } from "./support/backends.ts";
import { claimOne, domain, givenJob, jobRequest, valueOf } from "./support/given.ts";

const wellFormed = {
  job_id: `job_${"A".repeat(24)}`,
  lease_token: `job_lease_${"A".repeat(43)}`,
};
const failure = { ...wellFormed, failure_code: "busy", retryable: true };

/** A call of each operation that is fine in itself and finds nothing. */
const calls = {
  claim: { request: { queue: "other" }, answer: "no_job_available" },
  complete: { request: wellFormed, answer: "invalid_lease" },
  enqueue: { request: jobRequest({ idempotency_key: "access" }), answer: undefined },
  fail: { request: failure, answer: "invalid_lease" },
  inspect: { request: { job_id: wellFormed.job_id }, answer: "job_not_found" },
  renew: { request: wellFormed, answer: "invalid_lease" },
} as const satisfies Record<JobsOperation, { request: object; answer: string | undefined }>;

/** Values of the right JSON types that no caller may use, and what an authorised one hears of them. */
const invalid = {
  claim: { request: { queue: "no such queue" }, answer: "invalid_queue" },
  complete: { request: { job_id: "x", lease_token: "x" }, answer: "invalid_lease" },
  enqueue: { request: { ...jobRequest(), max_attempts: 0 }, answer: "invalid_job" },
  fail: { request: { ...failure, failure_code: "" }, answer: "invalid_failure" },
  inspect: { request: { job_id: "x" }, answer: "job_not_found" },
  renew: { request: { job_id: "x", lease_token: "x" }, answer: "invalid_lease" },
} as const satisfies Record<JobsOperation, { request: object; answer: string }>;

const operations = Object.keys(calls) as JobsOperation[];
const may: Record<Caller, readonly JobsOperation[]> = {
  producer: ["enqueue", "inspect"],
  producer2: ["enqueue", "inspect"],
  worker: ["claim", "complete", "fail", "inspect", "renew"],
  worker2: ["claim", "complete", "fail", "inspect", "renew"],
  observer: ["inspect"],
  stranger: [],
};
const unauthorized: ProviderDispatchOutcome = { kind: "domain", value: "unauthorized" };

const outcome = (answer: string | undefined): ProviderDispatchOutcome =>
  answer === undefined
    ? { kind: "success", value: expect.objectContaining({ created: expect.any(Boolean) }) }
    : { kind: "domain", value: answer };

describe.each(backends)("access, %s", (backend) => {
  test("each role may do its operations and no other", async () => {
    await using bundle = await open(backend);
    for (const caller of callers) {
      for (const operation of operations) {
        const { request, answer } = calls[operation];
        const expected = may[caller].includes(operation) ? outcome(answer) : unauthorized;
        const got = await bundle.handle(caller).invoke(operation, request);
        expect({ caller, operation, got }).toEqual({ caller, operation, got: expected });
      }
    }
  });

  test("who may not call never learns whether its values were valid", async () => {
    await using bundle = await open(backend);
    for (const caller of callers) {
      for (const operation of operations) {
        const { request, answer } = invalid[operation];
        const expected = may[caller].includes(operation) ? outcome(answer) : unauthorized;
        const got = await bundle.handle(caller).invoke(operation, request);
        expect({ caller, operation, got }).toEqual({ caller, operation, got: expected });
      }
    }
  });

  test("without a caller's identity every operation is unauthorized", async () => {
    await using bundle = await open(backend);
    for (const operation of operations) {
      for (const identity of [{}, { callerInstance: "" }, { callerInstance: "nobody" }]) {
        const context = { requestId: "1", cancelled: false, ...identity };
        const got = await bundle.endpoint.invokeRequest(operation, context, calls[operation].request);
        expect(got).toEqual(unauthorized);
      }
    }
  });

  test("a request of the wrong shape is a protocol violation for everybody", async () => {
    await using bundle = await open(backend);
    for (const caller of ["worker", "stranger"] as const) {
      const got = await bundle.handle(caller).invoke("claim", { queue: 1 });
      expect(got).toMatchObject({ kind: "runtime", failure: { kind: "protocol_violation" } });
    }
  });

  test("an Instance in several lists may do what each of them allows", async () => {
    await using bundle = await open(backend, {
      producer_instances: ["worker"],
      worker_instances: ["worker"],
      observer_instances: ["worker", "observer"],
    });
    const { job_id } = await valueOf(bundle.worker.enqueue(jobRequest()));
    expect((await claimOne(bundle)).job_id).toBe(job_id);
    expect(await bundle.producer.enqueue(jobRequest())).toEqual(domain("unauthorized"));
    expect(await bundle.producer.inspect({ job_id })).toEqual(domain("unauthorized"));
  });

  test("without observers the producers and workers may inspect", async () => {
    await using bundle = await open(backend, { observer_instances: [] });
    const { job_id } = await givenJob(bundle);
    expect(await bundle.observer.inspect({ job_id })).toEqual(domain("unauthorized"));
    for (const caller of ["producer", "producer2", "worker", "worker2"] as const) {
      expect(await valueOf(bundle[caller].inspect({ job_id }))).toMatchObject({ job_id });
    }
  });

  test("a lease is its owner's: another worker with the token has an invalid lease", async () => {
    await using bundle = await open(backend);
    const { lease } = await givenJob(bundle, { state: "running" });
    expect(await bundle.worker2.renew(lease)).toEqual(domain("invalid_lease"));
    expect(await bundle.worker2.complete(lease)).toEqual(domain("invalid_lease"));
    const attempt = { ...lease, failure_code: "busy", retryable: true };
    expect(await bundle.worker2.fail(attempt)).toEqual(domain("invalid_lease"));
    expect(await valueOf(bundle.worker.complete(lease))).toEqual({ completed: true });
  });

  test("fail checks job id and token before the code", async () => {
    await using bundle = await open(backend);
    const bad = { failure_code: "no spaces please", retryable: true };
    for (const lease of [
      { job_id: "x", lease_token: wellFormed.lease_token },
      { job_id: wellFormed.job_id, lease_token: "x" },
    ]) {
      expect(await bundle.worker.fail({ ...lease, ...bad })).toEqual(domain("invalid_lease"));
    }
    expect(await bundle.worker.fail({ ...wellFormed, ...bad })).toEqual(domain("invalid_failure"));
  });
});

describe.each(backends)("before prepare, %s", (backend) => {
  const unprepared = () => {
    const { plugin, configuration } = pluginOf(backend);
    const [endpoint] = plugin.instantiate({ instanceKey: "jobs", configuration }).endpoints;
    return (operation: string, callerInstance: string, request: object) =>
      endpoint?.invokeRequest(operation, { requestId: "1", callerInstance, cancelled: false }, request);
  };
  const callerOf = (operation: JobsOperation) => (operation === "enqueue" ? "producer" : "worker");

  test("the role is checked first", async () => {
    const call = unprepared();
    for (const operation of operations) {
      expect(await call(operation, "stranger", calls[operation].request)).toEqual(unauthorized);
      expect(await call(operation, "stranger", invalid[operation].request)).toEqual(unauthorized);
    }
  });

  test("then the bounds, patterns and queues, as domain codes", async () => {
    const call = unprepared();
    for (const operation of operations) {
      const { request, answer } = invalid[operation];
      expect(await call(operation, callerOf(operation), request)).toEqual({ kind: "domain", value: answer });
    }
    const elsewhere = jobRequest({ queue: "not.configured" });
    expect(await call("enqueue", "producer", elsewhere)).toEqual({ kind: "domain", value: "invalid_job" });
  });

  test("and a valid call is unavailable", async () => {
    const call = unprepared();
    for (const operation of operations) {
      const got = await call(operation, callerOf(operation), calls[operation].request);
      expect({ operation, got }).toMatchObject({
        operation,
        got: { kind: "runtime", failure: { kind: "unavailable" } },
      });
    }
  });
});
