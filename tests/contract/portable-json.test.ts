import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../capability/index.ts";
import { type Backend, backends, open } from "./support/backends.ts";
import { claimOne, domain, jobRequest, seededRandom, times, valueOf, valuesOf } from "./support/given.ts";

/** Built as data with `JSON.parse`, where a literal would set a prototype. */
const parsed = (text: string): JsonObject => JSON.parse(text) as JsonObject;

class Person {
  name = "ada";
}

let ran = 0;
const counting = {
  get() {
    ran += 1;
    return 1;
  },
  enumerable: true,
};

const cyclic: Record<string, unknown> = {};
cyclic.self = { again: [cyclic] };
const withSymbol = { [Symbol("key")]: 1 };
const sparse = [1, 2];
sparse.length = 3;
const extended = Object.assign([1], { extra: 2 });
const hidden = Object.defineProperty({}, "hidden", { value: 1, enumerable: false });

/** Values that JSON or PostgreSQL cannot hold unchanged. */
const notPortable: Readonly<Record<string, unknown>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
  "2^53": 2 ** 53,
  "-(2^53)": -(2 ** 53),
  "1e300": 1e300,
  bigint: 1n,
  undefined: undefined,
  function: () => 1,
  symbol: Symbol("value"),
  Date: new Date(0),
  Map: new Map([["a", 1]]),
  Set: new Set([1]),
  Uint8Array: new Uint8Array(2),
  RegExp: /a/,
  Error: new Error("text"),
  "class instance": new Person(),
  "boxed string": Object("text"),
  "boxed number": Object(1),
  "inherited properties": Object.create({ a: 1 }),
  "object with toJSON": { toJSON: () => "text" },
  accessor: Object.defineProperty({}, "a", counting),
  "accessor in an array": Object.defineProperty([1], 0, counting),
  "hidden property": hidden,
  "symbol key": withSymbol,
  "sparse array": sparse,
  "array with a property": extended,
  cycle: cyclic,
  "U+0000": "a\u0000b",
  "lone high surrogate": "a\ud800",
  "lone low surrogate": "\udc00a",
  "surrogates the wrong way round": "\udc00\ud800",
  "U+0000 in a key": { "a\u0000": 1 },
  "lone surrogate in a key": { "\ud800": 1 },
};

/** Payloads that come back exactly as they went. */
const portable: Readonly<Record<string, JsonObject>> = {
  empty: {},
  scalars: { a: null, b: true, c: false, d: "", e: 0, f: [], g: {} },
  integers: { max: Number.MAX_SAFE_INTEGER, min: Number.MIN_SAFE_INTEGER },
  fractions: { a: 0.1, b: 1e-7, c: 5e-324, d: 1.7976931348623157, e: -2.5e-10, f: 123_456_789.123 },
  "six literal characters of an escape": { s: "\\u0000", "\\u0000": "\\ud800", t: "\\\\u0000" },
  "the other control characters": { s: times(31, (index) => String.fromCharCode(index + 1)).join("") },
  "quotes and backslashes": { 'a"b': "\"\\/\b\f\n\r\t{},'" },
  "pairs of surrogates": { "😀": "𝒳😀\u{10ffff}" },
  "noncharacters and separators": { s: "\ufffe\uffff\u2028\u2029\u007f\u0080\ufeff" },
  "keys that objects inherit": parsed(
    '{"__proto__":{"x":1},"constructor":2,"toString":3,"hasOwnProperty":4,"valueOf":{"__proto__":5}}',
  ),
  "keys like numbers": parsed('{"10":1,"2":2,"":3,"-1":4,"01":5}'),
  "an object without a prototype": Object.assign(Object.create(null) as JsonObject, { a: 1 }),
};

const places: readonly ((value: unknown) => unknown)[] = [
  (value) => ({ a: value }),
  (value) => ({ a: { b: [1, value] } }),
];

async function tryPayload(bundle: Awaited<ReturnType<typeof open>>, payload: unknown) {
  return bundle.producer.enqueue(jobRequest({ payload: payload as JsonObject }));
}

describe.each(backends)("payloads, %s", (backend) => {
  test("what JSON cannot hold is refused in every place", async () => {
    await using bundle = await open(backend);
    for (const [name, value] of Object.entries(notPortable)) {
      for (const place of places) {
        const answer = await tryPayload(bundle, place(value));
        expect({ name, answer }).toEqual({ name, answer: domain("invalid_job") });
      }
    }
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
  });

  test("an accessor is refused without being run", async () => {
    await using bundle = await open(backend);
    const before = ran;
    const payload = Object.defineProperty({}, "a", counting);
    expect(await tryPayload(bundle, payload)).toEqual(domain("invalid_job"));
    expect(await tryPayload(bundle, { a: [Object.defineProperty({}, "b", counting)] })).toEqual(
      domain("invalid_job"),
    );
    expect(ran).toBe(before);
  });

  test("an object of another kind is no payload", async () => {
    await using bundle = await open(backend);
    for (const payload of [new Date(0), new Map(), new Person(), new Proxy({}, throwing)]) {
      expect(await tryPayload(bundle, payload)).toEqual(domain("invalid_job"));
    }
  });

  test("a payload far beyond its bound is refused without being read to its end", async () => {
    await using bundle = await open(backend);
    let reads = 0;
    const lines = new Proxy(
      times(50, () => "x".repeat(97)),
      {
        getOwnPropertyDescriptor(target, key) {
          reads += 1;
          return Reflect.getOwnPropertyDescriptor(target, key);
        },
      },
    );
    const payloads = [
      { a: times(1_000_000, () => 1) },
      { a: times(5000, () => lines) },
      { a: "x".repeat(100_000_000) },
    ];
    for (const payload of payloads) expect(await tryPayload(bundle, payload)).toEqual(domain("invalid_job"));
    expect(reads).toBeWithin(2500, 2630); // each line takes a hundred bytes of the 262 144
  });

  test.each(Object.keys(portable))("comes back exactly: %s", async (name) => {
    await using bundle = await open(backend);
    const payload = portable[name] as JsonObject;
    await valueOf(tryPayload(bundle, payload));
    const { payload: got } = await claimOne(bundle);
    expect(sorted(got)).toBe(sorted(payload));
    expect(Object.getPrototypeOf(got)).toBe(Object.prototype);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test("-0 goes as 0", async () => {
    await using bundle = await open(backend);
    await valueOf(tryPayload(bundle, { n: -0, l: [-0] }));
    const { payload } = await claimOne(bundle);
    expect(Object.is(payload.n, 0)).toBe(true);
    expect(JSON.stringify(payload)).toBe('{"l":[0],"n":0}');
  });

  test("what a caller changes after its call is not stored", async () => {
    await using bundle = await open(backend);
    const payload: { n: number } = { n: 1 };
    const answer = bundle.producer.enqueue(jobRequest({ payload }));
    payload.n = 2;
    await valueOf(answer);
    expect((await claimOne(bundle)).payload).toEqual({ n: 1 });
  });

  test("any well-formed text comes back, any ill-formed one is refused", () => fuzzStrings(backend));
});

async function fuzzStrings(backend: Backend): Promise<void> {
  await using bundle = await open(backend);
  const random = seededRandom(44);
  const units = [
    0, 1, 0x22, 0x5c, 0x41, 0xe9, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xfffe, 0xffff, 0x2028, 0x75, 0x30,
  ];
  const texts = times(200, () =>
    times(1 + random(6), () => String.fromCharCode(units[random(units.length)] ?? 0)).join(""),
  );
  const isStorable = (text: string) => text.isWellFormed() && !text.includes("\0");
  const answers = await Promise.all(texts.map((text) => tryPayload(bundle, { [text]: [text] })));
  expect(answers.map((answer) => answer.ok)).toEqual(texts.map(isStorable));
  const stored = texts.filter(isStorable);
  const claims = await valuesOf(stored.map(() => bundle.worker.claim({ queue: "mail" })));
  const expected = stored.map((text) => sorted({ [text]: [text] }));
  expect(claims.map(({ payload }) => sorted(payload)).sort()).toEqual(expected.sort());
}

const throwing: ProxyHandler<object> = {
  getPrototypeOf() {
    throw new Error("not for reading");
  },
};

/** The value as text, keys in order, so that nothing about prototypes takes part in the comparison. */
function sorted(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  const entries = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}:${sorted(each)}`);
  return `{${entries.sort().join()}}`;
}
