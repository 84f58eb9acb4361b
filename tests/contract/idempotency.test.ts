import { describe, expect, test } from "bun:test";
import type { EnqueueRequest, JsonObject } from "../../capability/index.ts";
import { backends, open } from "./support/backends.ts";
import {
  at,
  claimOne,
  domain,
  type GivenState,
  givenJob,
  inspectJob,
  jobRequest,
  leaseOf,
  valueOf,
} from "./support/given.ts";

const conflict = domain("idempotency_conflict");
const parsed = (text: string): JsonObject => JSON.parse(text) as JsonObject;

describe.each(backends)("idempotency, %s", (backend) => {
  test("the same intent under the same key is the first job", async () => {
    await using bundle = await open(backend);
    const { job_id, request } = await givenJob(bundle);
    const before = await inspectJob(bundle, job_id);
    await bundle.clock.advance(1000);
    for (let each = 0; each < 3; each += 1) {
      expect(await valueOf(bundle.producer.enqueue({ ...request }))).toEqual({ job_id, created: false });
    }
    expect(await inspectJob(bundle, job_id)).toEqual(before);
    expect((await claimOne(bundle)).job_id).toBe(job_id);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
  });

  test("another intent under the same key is a conflict, in each field, and stores nothing", async () => {
    await using bundle = await open(backend);
    const { job_id, request } = await givenJob(bundle, { available_at: at(1) });
    const changes: readonly Partial<EnqueueRequest>[] = [
      { queue: "other" },
      { kind: "mail.other" },
      { kind: "Mail.send" },
      { payload: { to: "bob" } },
      { payload: {} },
      { payload: { to: "ada", cc: null } },
      { available_at: at(1.000001) },
      { available_at: at(0) },
      { max_attempts: 4 },
    ];
    for (const change of changes) {
      expect({ change, answer: await bundle.producer.enqueue({ ...request, ...change }) }).toEqual({
        change,
        answer: conflict,
      });
    }
    expect(await valueOf(bundle.producer.enqueue(request))).toEqual({ job_id, created: false });
    await bundle.clock.advance(10_000);
    await claimOne(bundle);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    expect(await bundle.worker.claim({ queue: "other" })).toEqual(domain("no_job_available"));
  });

  test("a key belongs to its caller: another producer's is another job", async () => {
    await using bundle = await open(backend);
    const { job_id, request } = await givenJob(bundle);
    const other = await valueOf(bundle.producer2.enqueue(request));
    expect(other.created).toBe(true);
    expect(other.job_id === job_id).toBe(false);
    expect(await bundle.producer2.enqueue({ ...request, kind: "mail.other" })).toEqual(conflict);
    expect(await valueOf(bundle.producer.enqueue(request))).toEqual({ job_id, created: false });
    expect(await valueOf(bundle.producer2.enqueue(request))).toEqual({ ...other, created: false });
  });

  test("keys differ by case and by every character, and look like nothing else", async () => {
    await using bundle = await open(backend);
    const keys = ["a", "A", "a.", "a/b", "a:b", "a_b", "a-b", "_", "-", ".", "/", "null", "NULL", "0", "00"];
    const ids = new Set<string>();
    for (const idempotency_key of keys) {
      const answer = await valueOf(bundle.producer.enqueue(jobRequest({ idempotency_key })));
      expect(answer.created).toBe(true);
      ids.add(answer.job_id);
    }
    expect(ids.size).toBe(keys.length);
  });

  test.each(["queued", "running", "retrying", "expired", "succeeded", "failed"] as const)(
    "holds while the job is %s, and never moves it",
    async (state: GivenState) => {
      await using bundle = await open(backend);
      const { job_id, request } = await givenJob(bundle, { state });
      const before = await inspectJob(bundle, job_id);
      expect(await valueOf(bundle.producer.enqueue(request))).toEqual({ job_id, created: false });
      expect(await bundle.producer.enqueue({ ...request, payload: { to: "bob" } })).toEqual(conflict);
      expect(await inspectJob(bundle, job_id)).toEqual(before);
    },
  );

  test("holds at every step of a life with retries, whose run times are no part of the intent", async () => {
    await using bundle = await open(backend);
    const { job_id, request } = await givenJob(bundle, { available_at: at(-3600), max_attempts: 4 });
    const again = async () =>
      expect(await valueOf(bundle.producer.enqueue(request))).toEqual({ job_id, created: false });
    for (let attempt = 1; attempt < 4; attempt += 1) {
      const lease = leaseOf(await claimOne(bundle));
      await again();
      await valueOf(bundle.worker.fail({ ...lease, failure_code: "busy", retryable: true }));
      await again();
      await bundle.clock.advance(60_000);
      await again();
    }
    await claimOne(bundle);
    await bundle.clock.advance(60_000);
    await bundle.maintain();
    await again();
    expect(await inspectJob(bundle, job_id)).toMatchObject({ last_failure_code: "attempts_exhausted" });
  });

  test("survives a restart of the host", async () => {
    await using bundle = await open(backend);
    const { job_id, request } = await givenJob(bundle, { state: "succeeded" });
    await bundle.restart();
    expect(await valueOf(bundle.producer.enqueue(request))).toEqual({ job_id, created: false });
    expect(await bundle.producer.enqueue({ ...request, max_attempts: 9 })).toEqual(conflict);
  });

  test("a refused request takes no key", async () => {
    await using bundle = await open(backend);
    const request = jobRequest();
    expect(await bundle.producer.enqueue({ ...request, max_attempts: 0 })).toEqual(domain("invalid_job"));
    expect(await bundle.stranger.enqueue(request)).toEqual(domain("unauthorized"));
    expect(await valueOf(bundle.producer.enqueue(request))).toMatchObject({ created: true });
  });

  const equal: readonly (readonly [string, JsonObject, JsonObject])[] = [
    [
      "the order of keys",
      parsed('{"a":1,"b":{"c":2,"d":[{"e":1,"f":2}]}}'),
      parsed('{"b":{"d":[{"f":2,"e":1}],"c":2},"a":1}'),
    ],
    ["1 and 1.0", parsed('{"n":1}'), parsed('{"n":1.0}')],
    ["1e2 and 100", parsed('{"n":1e2}'), parsed('{"n":100}')],
    ["-0 and 0", { n: -0, l: [-0] }, { n: 0, l: [0] }],
    ["escaped and plain characters", parsed('{"\\u0061":"\\u00e9"}'), { a: "é" }],
    ["keys out of the order of Unicode", { "\uffff": 1, "😀": 2, z: 3 }, { z: 3, "😀": 2, "\uffff": 1 }],
    ["keys like numbers", parsed('{"10":1,"9":2}'), parsed('{"9":2,"10":1}')],
    ["an object without a prototype", Object.assign(Object.create(null) as JsonObject, { a: 1 }), { a: 1 }],
  ];
  test.each(equal)("payloads that differ in %s are equal", async (_name, first, second) => {
    await using bundle = await open(backend);
    const { job_id, request } = await givenJob(bundle, { payload: first });
    const again = { ...request, payload: second };
    expect(await valueOf(bundle.producer.enqueue(again))).toEqual({ job_id, created: false });
  });

  const different: readonly (readonly [string, JsonObject, JsonObject])[] = [
    ["a missing key and null", {}, { a: null }],
    ["a number and its text", { a: 1 }, { a: "1" }],
    ["the order of an array", { a: [1, 2] }, { a: [2, 1] }],
    ["true and 1", { a: true }, { a: 1 }],
    ["an empty array and an empty object", { a: [] }, { a: {} }],
    ["composed and decomposed characters", { a: "\u00e9" }, { a: "e\u0301" }],
    ["a key's case", { a: 1 }, { A: 1 }],
    ["the last digit", { a: 0.1 }, { a: 0.10000000000000002 }],
    ["__proto__ and nothing", parsed('{"__proto__":{"a":1}}'), {}],
    ["text that looks like JSON", { a: '{"b":1}' }, { a: { b: 1 } }],
  ];
  test.each(different)("payloads that differ in %s are different", async (_name, first, second) => {
    await using bundle = await open(backend);
    const { request } = await givenJob(bundle, { payload: first });
    expect(await bundle.producer.enqueue({ ...request, payload: second })).toEqual(conflict);
  });

  test("available_at is compared as an instant to the microsecond", async () => {
    await using bundle = await open(backend);
    const { job_id, request } = await givenJob(bundle, { available_at: "2026-01-01T00:00:00.000001Z" });
    for (const available_at of [
      "2026-01-01T00:00:00.0000019Z",
      "2026-01-01T00:00:00.00000100000Z",
      "2026-01-01T05:30:00.000001+05:30",
      "2025-12-31T19:00:00.0000015-05:00",
      "2026-01-01t00:00:00.000001z",
    ]) {
      const answer = await valueOf(bundle.producer.enqueue({ ...request, available_at }));
      expect({ available_at, ...answer }).toEqual({ available_at, job_id, created: false });
    }
    for (const available_at of [
      "2026-01-01T00:00:00Z",
      "2026-01-01T00:00:00.000002Z",
      "2026-01-01T00:00:00.000001+01:00",
    ]) {
      expect(await bundle.producer.enqueue({ ...request, available_at })).toEqual(conflict);
    }
  });

  test("two times in the past are two intents, although both mean now", async () => {
    await using bundle = await open(backend);
    const { request } = await givenJob(bundle, { available_at: at(-10) });
    expect(await bundle.producer.enqueue({ ...request, available_at: at(-11) })).toEqual(conflict);
  });
});
