import type { JsonObject } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectThat } from "../expect-equal.ts";
import type { Rig } from "../rig.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";

const rule = "payloads";

/** What a payload may hold, and that it comes back unchanged. */
export const payloadCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "integers lie within ±(2^53 − 1)",
    async run(rig) {
      const payload = { max: Number.MAX_SAFE_INTEGER, min: Number.MIN_SAFE_INTEGER };
      expectEqual(await roundTrip(rig, payload), payload);
      for (const number of [2 ** 53, -(2 ** 53), 1e300]) await expectRefused(rig, number);
    },
  },
  {
    rule,
    name: "a number that is not finite is refused",
    async run(rig) {
      for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
        await expectRefused(rig, number);
    },
  },
  {
    rule,
    name: "U+0000 and lone surrogates are refused, in keys and in strings",
    async run(rig) {
      const texts = ["\0", "a\0b", "a\0", "\ud800", "\udc00a", "\udc00\ud800"];
      for (const text of [...texts, "a\ud800", "a\udc00", "\ud800\ud83d\ude00"]) {
        await expectRefused(rig, text);
        await expectRefused(rig, { [text]: 1 });
      }
    },
  },
  {
    rule,
    name: "what is no plain data is refused",
    async run(rig) {
      const values = [undefined, 1n, () => 1, Symbol("value"), new Date(0), new Map(), new Uint8Array(1)];
      const boxed = [1, "a", true].map(Object);
      for (const value of [...values, ...boxed, new Point()]) await expectRefused(rig, value);
    },
  },
  {
    rule,
    name: "an object with more than its plain fields is refused",
    async run(rig) {
      await expectRefused(rig, { toJSON: () => 1 });
      await expectRefused(rig, { a: 1, [Symbol("key")]: 1 });
      await expectRefused(rig, Object.defineProperty({ a: 1 }, "hidden", { value: 1, enumerable: false }));
      await expectRefused(rig, {
        get a() {
          return 1;
        },
      });
    },
  },
  {
    rule,
    name: "an array with holes is refused",
    async run(rig) {
      const list = [1];
      list[2] = 3;
      const empty: number[] = [];
      empty.length = 3;
      for (const value of [list, empty]) await expectRefused(rig, value);
    },
  },
  {
    rule,
    name: "a payload that holds itself is refused",
    async run(rig) {
      const object: { self?: object } = {};
      object.self = object;
      const list: object[] = [];
      list.push(list);
      for (const value of [object, list]) await expectRefused(rig, value);
    },
  },
  {
    rule,
    name: "a payload comes back as it went",
    async run(rig) {
      const payload = {
        scalars: [null, true, false, "", 0, -1, 0.1, 1e-7, 5e-324, -2.5e-10, 123_456_789.123],
        empty: [{}, []],
        'a"b': "\"\\/\b\f\n\r\t{},'",
        "😀": "𝒳😀\u{10ffff} \ufffe\u2028\u2029\u007f\ufeff",
        controls: String.fromCharCode(...Array.from({ length: 31 }, (_, index) => index + 1)),
        literal: "\\u0000 \\ud800",
        "10": 1,
        "2": 2,
        "": 3,
      };
      expectEqual(await roundTrip(rig, payload), payload);
    },
  },
  {
    rule,
    name: "__proto__ and constructor are ordinary keys and stay data",
    async run(rig) {
      const text = '{"__proto__":{"a":1},"constructor":{"__proto__":2},"toString":3,"hasOwnProperty":4}';
      const payload = await roundTrip(rig, JSON.parse(text) as JsonObject);
      expectEqual(payload, JSON.parse(text));
      expectThat(Object.getPrototypeOf(payload) === Object.prototype, "__proto__ to set no prototype");
    },
  },
  {
    rule,
    name: "-0 goes as 0",
    async run(rig) {
      const payload = await roundTrip(rig, { n: -0, list: [-0] });
      expectThat(Object.is(payload["n"], 0), "0 for -0");
      expectThat(Object.is((payload["list"] as readonly number[])[0], 0), "0 for -0 in an array");
    },
  },
  {
    rule,
    name: "what a caller changes after its call is not stored",
    async run(rig) {
      const payload = { n: 1 };
      const answer = rig.producer.enqueue(rig.request({ payload }));
      payload.n = 2;
      await valueOf(answer);
      expectEqual((await rig.claim()).payload, { n: 1 });
    },
  },
];

class Point {
  readonly x = 1;
}

async function roundTrip(rig: Rig, payload: JsonObject): Promise<JsonObject> {
  return (await rig.running({ payload })).claim.payload;
}

/** Refused at the top of the payload and deep in it. */
async function expectRefused(rig: Rig, value: unknown): Promise<void> {
  for (const payload of [{ a: value }, { a: [{ b: value }] }]) {
    const request = rig.request({ payload: payload as unknown as JsonObject });
    await expectVerdict(rig.producer.enqueue(request), "invalid_job", typeof value);
  }
}
