import { expect, test } from "bun:test";
import * as fc from "fast-check";
import * as v from "valibot";
import { exactRecord } from "./exact-record.ts";
import { jobsCapability } from "./jobs.ts";
import { inspectCustom } from "./redaction.ts";
import { signalsCapability } from "./signals.ts";

const schemas = [jobsCapability, signalsCapability].flatMap(({ operations }) =>
  Object.entries(operations).flatMap(([name, { request, response }]) => [
    [`${name} request`, request as v.GenericSchema] as const,
    [`${name} response`, response as v.GenericSchema] as const,
  ]),
);

/** Objects that nearly fit: the right keys, or one less, or one more, with values of any kind. */
function nearly(schema: v.GenericSchema): fc.Arbitrary<Record<string, unknown>> {
  const keys = Object.keys((schema as unknown as { readonly entries: object }).entries);
  const value = fc.oneof(
    fc.string(),
    fc.integer({ min: -2, max: 3 }),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, undefined, "queued", true),
    fc.array(fc.string(), { maxLength: 2 }),
    fc.dictionary(fc.string(), fc.integer(), { maxKeys: 2 }),
  );
  const whole = fc.record(Object.fromEntries(keys.map((key) => [key, value])));
  return fc.oneof(
    whole,
    fc.record(Object.fromEntries(keys.map((key) => [key, value])), { requiredKeys: [] }),
    fc.tuple(whole, fc.string(), value).map(([object, key, extra]) => ({ ...object, [key]: extra })),
  );
}

test.each(schemas)(
  "what is quickly found to fit, the schema accepts, and the same of it: %s",
  (_, schema) => {
    const quick = exactRecord(schema);
    if (quick === undefined) return;
    fc.assert(
      fc.property(nearly(schema), (object) => {
        const parsed = v.safeParse(schema, object);
        const read = quick.read(object);
        expect(quick.fits(object)).toBe(read !== undefined);
        if (read !== undefined)
          expect({ success: parsed.success, output: parsed.output }).toEqual({ success: true, output: read });
      }),
      { numRuns: 500 },
    );
  },
);

test("a request and a response that are in order need no schema", () => {
  const { claim, complete } = jobsCapability.operations;
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

test("a schema with optional fields has no quick way", () => {
  expect(exactRecord(jobsCapability.operations.inspect.response)).toBeUndefined();
  expect(exactRecord(v.string())).toBeUndefined();
});
