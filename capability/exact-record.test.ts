import { expect, test } from "bun:test";
import * as fc from "fast-check";
import * as v from "valibot";
import { exactRecord } from "./exact-record.ts";
import { jobsCapability } from "./jobs.ts";
import { inspectCustom } from "./redaction.ts";
import { signalsCapability } from "./signals.ts";

const odd = fc.oneof(
  fc.string(),
  fc.integer({ min: -2, max: 3 }),
  fc.constantFrom<unknown>(
    null,
    undefined,
    "queued",
    true,
    1.5,
    -0,
    NaN,
    Infinity,
    -Infinity,
    [],
    ["a"],
    {},
    { a: 1 },
    () => 1,
  ),
);

/** Objects that fit, or would but for one field: of another kind, missing, or one too many. */
function nearly(fitting: Readonly<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> {
  const keys = fc.constantFrom(...Object.keys(fitting));
  return fc.oneof(
    fc.constant({ ...fitting }),
    fc.tuple(keys, odd).map(([key, value]) => ({ ...fitting, [key]: value })),
    keys.map((key) => Object.fromEntries(Object.entries(fitting).filter(([each]) => each !== key))),
    fc.tuple(fc.string(), odd).map(([key, value]) => ({ ...fitting, [key]: value })),
  );
}

const lease = { job_id: "job", lease_token: "token" };
const { claim, complete, enqueue, fail, inspect, renew } = jobsCapability.operations;
const described: readonly (readonly [string, v.GenericSchema, Readonly<Record<string, unknown>>])[] = [
  ["claim request", claim.request, { queue: "mail" }],
  [
    "claim response",
    claim.response,
    { ...lease, queue: "mail", kind: "k", payload: {}, attempt: 1, max_attempts: 2, lease_expires_at: "t" },
  ],
  ["complete request", complete.request, lease],
  ["complete response", complete.response, { completed: true }],
  [
    "enqueue request",
    enqueue.request,
    { queue: "mail", kind: "k", payload: {}, idempotency_key: "key", available_at: "t", max_attempts: 3 },
  ],
  ["enqueue response", enqueue.response, { job_id: "job", created: true }],
  ["fail request", fail.request, { ...lease, failure_code: "smtp", retryable: true }],
  ["fail response", fail.response, { status: "queued", available_at: null }],
  ["inspect request", inspect.request, { job_id: "job" }],
  ["renew response", renew.response, { lease_expires_at: "t" }],
];

test.each(described)(
  "what fits is found quickly, and nothing that the schema refuses or changes: %s",
  (_, schema, fitting) => {
    const quick = exactRecord(schema);
    expect(quick?.read(fitting)).toEqual(fitting);
    fc.assert(
      fc.property(nearly(fitting), (object) => {
        const parsed = v.safeParse(schema, object);
        const read = quick?.read(object);
        expect(quick?.fits(object)).toBe(read !== undefined);
        if (read !== undefined) expect(parsed).toMatchObject({ success: true, output: read });
      }),
      { numRuns: 1000 },
    );
  },
);

test("a schema that looks at the whole, changes a value, fills one in or copies deeper has no quick way", () => {
  const {
    string,
    number,
    pipe,
    strictObject,
    transform,
    trim,
    minLength,
    check,
    nullish,
    nullable,
    optional,
    description,
  } = v;
  const whole = strictObject({ a: number(), b: number() });
  for (const schema of [
    pipe(
      whole,
      check(({ a, b }) => a < b),
    ),
    strictObject({ a: pipe(pipe(string(), minLength(3)), description("three")) }),
    strictObject({ a: pipe(string(), transform(Number)) }),
    strictObject({ a: pipe(string(), trim()) }),
    strictObject({ a: nullish(string(), "default") }),
    strictObject({ a: nullable(string(), "default") }),
    strictObject({ a: optional(string()) }),
    v.object({ a: string() }),
    signalsCapability.operations.wait.request,
    inspect.response,
  ])
    expect(exactRecord(schema)).toBeUndefined();
  expect(exactRecord(pipe(whole, description("two numbers")))?.fits({ a: 1, b: 2 })).toBe(true);
});

test("what one copy of the package hid is hidden again by another, which may hide more", () => {
  const answer = {
    ...lease,
    queue: "mail",
    kind: "k",
    payload: {},
    attempt: 1,
    max_attempts: 2,
    lease_expires_at: "t",
  };
  const talkative = Object.defineProperty(answer, inspectCustom, {
    value: () => "token",
    configurable: true,
  });
  claim.hideResponse?.(talkative);
  expect(Bun.inspect(talkative)).not.toContain('token"');
  expect(Bun.inspect(talkative)).toContain("[redacted]");
});

test("a request and a response that are in order need no schema", () => {
  expect(exactRecord(claim.request)?.read({ queue: "mail" })).toEqual({ queue: "mail" });
  expect(exactRecord(complete.request)?.fits({ job_id: "a", lease_token: "b" })).toBe(true);
  const answer = {
    job_id: "a",
    lease_token: "b",
    queue: "mail",
    kind: "k",
    payload: {},
    attempt: 1,
    max_attempts: 1,
    lease_expires_at: "",
  };
  expect(exactRecord(claim.response)?.fits(answer)).toBe(true);
  expect(exactRecord(claim.response)?.fits(claim.hideResponse?.(answer))).toBe(true);
});

test("each field is read once, and what stands on the prototype or is hidden is left to the schema", () => {
  const quick = exactRecord(jobsCapability.operations.claim.request);
  let reads = 0;
  const counting = {
    get queue() {
      reads += 1;
      return "mail";
    },
  };
  expect([quick?.read(counting), reads]).toEqual([{ queue: "mail" }, 1]);
  for (const odd of [
    Object.create({ queue: "mail" }),
    Object.defineProperty({}, "queue", { value: "mail" }),
    { queue: "mail", [Symbol("more")]: 1 },
    Object.defineProperty({ queue: "mail" }, "more", { value: 1 }),
    Object.assign(new (class Request {})(), { queue: "mail" }),
    ["mail"],
    null,
    "mail",
  ])
    expect(quick?.read(odd)).toBeUndefined();
  expect(quick?.read(Object.defineProperty({ queue: "mail" }, inspectCustom, { value: () => ({}) }))).toEqual(
    { queue: "mail" },
  );
});
