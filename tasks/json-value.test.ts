import { expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalJsonText, copyPlainJson, inputLimits, NotPlainJson } from "./json-value.ts";

const copy = (value: unknown) => copyPlainJson(value, inputLimits);
const sparse = (length: number): unknown[] => Object.assign([], { length });
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

test.each<[string, () => unknown]>([
  ["undefined", () => undefined],
  ["a member that is undefined", () => ({ a: undefined })],
  ["an element that is undefined", () => [undefined]],
  ["a function", () => () => 1],
  ["a symbol", () => Symbol("s")],
  ["a bigint", () => 1n],
  ["NaN", () => Number.NaN],
  ["Infinity", () => [Number.POSITIVE_INFINITY]],
  ["a Date", () => new Date()],
  ["a Map", () => new Map()],
  ["a Uint8Array", () => new Uint8Array(2)],
  ["a boxed number", () => Object(1)],
  [
    "a class instance",
    () =>
      new (class Point {
        x = 1;
      })(),
  ],
  ["an array of a subclass", () => new (class List extends Array {})()],
  ["a proxy", () => new Proxy({}, {})],
  ["a proxy of an array", () => [new Proxy([], {})]],
  ["a hidden key", () => Object.defineProperty({}, "a", { value: 1 })],
  ["a symbol key", () => ({ [Symbol("s")]: 1 })],
  ["a sparse array", () => sparse(3)],
  ["an array with a further property", () => Object.assign([1], { more: 1 })],
  ["an array with a hole and a further property", () => Object.assign(sparse(1), { more: 1 })],
  ["U+0000 in a string", () => "a\0b"],
  ["U+0000 in a key", () => ({ "a\0b": 1 })],
  ["a lone surrogate", () => "\ud800"],
  ["a lone surrogate in a key", () => ({ "\udc00": 1 })],
  [
    "a cycle",
    () => {
      const a: unknown[] = [];
      a.push(a);
      return a;
    },
  ],
  ["nesting of 33", () => nested(33)],
])("%s is refused", (_name, make) => {
  expect(() => copy(make())).toThrow(NotPlainJson);
});

test("accessors, traps and toJSON are never run", () => {
  let runs = 0;
  const run = (): never => {
    runs += 1;
    throw new Error("ran");
  };
  const handler = new Proxy({}, { get: () => run });
  for (const value of [
    {
      get a() {
        return run();
      },
    },
    new Proxy({}, handler),
    [{ toJSON: run }],
  ])
    expect(() => copy(value)).toThrow(NotPlainJson);
  expect(runs).toBe(0);
});

test("a message names the place, and never a value or a key that may be data", () => {
  expect(() => copy({ list: [1, { "ada@example.org": "secret\0" }] })).toThrow("$.list[1].(key): U+0000");
});

test("minus zero becomes zero", () => {
  expect(Object.is(copy({ a: -0 }), -0)).toBe(false);
  expect(Object.is((copy([-0]) as number[])[0], 0)).toBe(true);
  expect(canonicalJsonText(-0)).toBe("0");
});

test("keys such as __proto__ and constructor stay data", () => {
  const value = copy(JSON.parse('{"__proto__":{"x":1},"constructor":2}')) as object;
  expect(JSON.stringify(value)).toBe('{"__proto__":{"x":1},"constructor":2}');
  expect(({} as { x?: number }).x).toBeUndefined();
});

test("six literal characters that look like an escape survive", () => {
  expect(copy("\\u0000")).toBe("\\u0000");
});

test("the depth counts objects and arrays, the outermost included", () => {
  expect(copy(nested(32))).toEqual(nested(32) as never);
});

test("the size counts UTF-8 bytes of the compact text", () => {
  const limits = { bytes: 12, depth: 32 };
  expect(copyPlainJson("é".repeat(5), limits)).toBe("ééééé");
  expect(() => copyPlainJson(`${"é".repeat(5)}x`, limits)).toThrow("13 bytes, at most 12");
  expect(() => copyPlainJson("\u0001\u0001\u0001", limits)).toThrow(NotPlainJson); // escaped: 20 bytes
});

test("a structure that shares its parts is refused by size before it is copied in full", () => {
  let value: unknown = "x".repeat(100);
  for (let level = 0; level < 30; level += 1) value = [value, value];
  expect(() => copy(value)).toThrow("bytes");
});

test("the copy is equal, fresh, and free of the original", () => {
  const original = { a: [1, { b: "c" }] };
  const made = copy(original) as typeof original;
  original.a.push(2);
  expect(made).toEqual({ a: [1, { b: "c" }] });
});

test("whatever JSON can hold is accepted unchanged", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8, stringUnit: "grapheme" }), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!text.includes("\\u0000") && text.isWellFormed() && Buffer.byteLength(text) < 60_000);
      expect(JSON.stringify(copy(value))).toBe(
        JSON.stringify(JSON.parse(text), (_, v) => (Object.is(v, -0) ? 0 : v)),
      );
    }),
  );
});

test("the canonical text does not depend on the order of keys, and tells different values apart", () => {
  expect(canonicalJsonText({ b: [1, { d: null, c: "x" }], a: 1.0 })).toBe(
    '{"a":1,"b":[1,{"c":"x","d":null}]}',
  );
  expect(canonicalJsonText({ a: null })).not.toBe(canonicalJsonText({}));
});
