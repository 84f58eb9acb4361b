import { expect, test } from "bun:test";
import fc from "fast-check";
import { refusalOf } from "../testing/refusal-of.ts";
import { canonicalJson } from "./canonical-json.ts";
import { digestJson, digestOf, isDigest } from "./digest.ts";
import { ownJson } from "./own-json.ts";

test("keys are sorted by UTF-16 code unit and there is no white space", () => {
  const value = { b: [1, "x", null, true, {}], a: { "\u{1F600}": 1, "\uFB33": 2, 10: 3, 9: 4 } };
  expect(canonicalJson(value)).toBe('{"a":{"10":3,"9":4,"\u{1F600}":1,"\uFB33":2},"b":[1,"x",null,true,{}]}');
});

test("a key named like a part of every object is only a key", () => {
  const value: unknown = JSON.parse('{"__proto__":{"x":1},"constructor":2}');
  expect(canonicalJson(value)).toBe('{"__proto__":{"x":1},"constructor":2}');
  const owned = ownJson(value) as Record<string, unknown>;
  expect(Object.getPrototypeOf(owned)).toBe(Object.prototype);
  expect(Object.keys(owned)).toEqual(["__proto__", "constructor"]);
});

test("depth costs no stack, and parts may be shared", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 50_000; level += 1) deep = [deep];
  expect(canonicalJson(deep)).toHaveLength(100_001);
  const shared = { x: 1 };
  expect(canonicalJson([shared, shared])).toBe('[{"x":1},{"x":1}]');
});

test("a long list is written", () => {
  const list = Array.from({ length: 300_000 }, (_, index) => index);
  expect(JSON.parse(canonicalJson(list))).toEqual(list);
});

class Point {
  x = 1;
}
const cycle: Record<string, unknown> = {};
cycle.self = { again: [cycle] };
const sparse: unknown[] = [1];
sparse[2] = 3;

test.each([
  ["NaN", { a: [Number.NaN] }, "/a/0: NaN is not"],
  ["Infinity", { a: Number.POSITIVE_INFINITY }, "/a: Infinity is not"],
  ["minus zero", [0, -0], "/1: -0"],
  ["undefined", { a: undefined }, "/a: undefined is not JSON"],
  ["undefined as the whole", undefined, "the value: undefined is not JSON"],
  ["a bigint", [1n], "/0: bigint"],
  ["a function", { a: () => 1 }, "/a: function"],
  ["toJSON", { toJSON: () => 1 }, "/toJSON: function"],
  ["a symbol", { a: Symbol("s") }, "/a: symbol"],
  ["a key that is a symbol", { a: { [Symbol("s")]: 1 } }, "/a: a key that is a symbol"],
  ["a class instance", { a: new Point() }, "/a: not a plain object"],
  ["a Date", { a: new Date(0) }, "/a: not a plain object"],
  ["a Map", new Map(), "the value: not a plain object"],
  ["a boxed text", Object("x"), "the value: not a plain object"],
  ["an array of a class", { a: new (class extends Array {})() }, "/a: not a plain array"],
  ["a sparse array", { a: sparse }, "/a: a sparse array"],
  ["an array of holes", Object.assign([], { length: 3 }), "the value: a sparse array"],
  ["an array with a name", Object.assign([1], { name: 1 }), "the value: a sparse array"],
  ["a hole made up for by a name", Object.assign([], { length: 1, name: 1 }), "the value: a sparse array"],
  ["a lone surrogate", { a: "\uD800" }, "/a: a lone surrogate"],
  ["a lone surrogate in a key", { "k\uDC00": 1 }, "/k\uFFFD: a lone surrogate"],
  ["a cycle", cycle, "/self/again/0: a cycle"],
  ["a hidden property", Object.defineProperty({}, "a", { value: 1 }), "/a: a hidden property"],
])("%s is refused with its place", (_what, value, message) => {
  expect(refusalOf(() => canonicalJson(value))).toStartWith(message);
});

test("an accessor or a proxy is refused and never runs", () => {
  let runs = 0;
  const run = (): never => {
    runs += 1;
    throw new Error("ran");
  };
  const traps: ProxyHandler<object> = {
    get: run,
    ownKeys: run,
    getPrototypeOf: run,
    getOwnPropertyDescriptor: run,
    has: run,
  };
  const accessor = Object.defineProperty({}, "b", { get: run, enumerable: true });
  const listed = Object.defineProperty([1, 2], 1, { get: run, enumerable: true });
  expect(refusalOf(() => canonicalJson({ a: accessor }))).toBe("/a/b: an accessor");
  expect(refusalOf(() => canonicalJson({ a: listed }))).toBe("/a/1: an accessor");
  expect(refusalOf(() => canonicalJson({ a: new Proxy({}, traps) }))).toBe("/a: a proxy");
  expect(refusalOf(() => canonicalJson([new Proxy([], traps)]))).toBe("/0: a proxy");
  const inherits: unknown = Object.create(new Proxy({}, traps));
  expect(refusalOf(() => canonicalJson(inherits))).toBe("the value: not a plain object");
  expect(runs).toBe(0);
});

test("a hidden property under a symbol is nobody's data", () => {
  expect(canonicalJson(Object.defineProperty({ a: 1 }, Symbol("print"), { value: () => "" }))).toBe(
    '{"a":1}',
  );
});

test("a place is told by its JSON pointer, bounded and printable", () => {
  const place = (key: string) => refusalOf(() => canonicalJson({ [key]: undefined })).split(":")[0];
  expect(place("a/b~c")).toBe("/a~1b~0c");
  expect(place("line\nbreak")).toBe("/line\uFFFDbreak");
  expect(place("k".repeat(100_000))).toBe("/(key of 100000 characters)");
  let deep: unknown = undefined;
  for (let level = 0; level < 30; level += 1) deep = { a: deep };
  expect(refusalOf(() => canonicalJson(deep))).toContain("/a/(6 more keys): undefined");
});

const limits = { depth: 3, nodes: 6, textLength: 5, totalTextLength: 8 };

test.each([
  ["as deep as allowed", [[[]]], undefined],
  ["a level deeper", [[[[]]]], "/0/0/0: more than 3 levels"],
  ["as many values as allowed", [1, 2, 3, 4, 5], undefined],
  ["a value more", [1, 2, 3, 4, 5, 6], "the value: more than 5 members"],
  ["a value more in an object", { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, "the value: more than 5"],
  [
    "a value more, spread",
    [
      [1, 2],
      [3, 4],
    ],
    "/1: more than 1 members",
  ],
  ["a text as long as allowed", ["abcde"], undefined],
  ["a longer text", ["abcdef"], "/0: more than 5 characters in one text"],
  ["a longer key", { abcdef: 1 }, "/abcdef: more than 5 characters in one text"],
  ["texts as long as allowed together", { ab: "abc", c: "de" }, undefined],
  ["texts longer together", { ab: "abc", c: "def" }, "/c: more than 8 characters in all"],
])("limits hold exactly: %s", (_what, value, message) => {
  const own = () => ownJson(value, limits);
  if (message === undefined) expect(own()).toEqual(value as never);
  else expect(refusalOf(own)).toStartWith(message);
});

test("a structure that unfolds without end is refused once it breaks a limit", () => {
  let bomb: unknown = [];
  for (let level = 0; level < 60; level += 1) bomb = [bomb, bomb];
  expect(refusalOf(() => ownJson(bomb, { nodes: 10_000 }))).toContain("more than");
});

test("an owned copy is frozen at every level and shares nothing with its source", () => {
  const source = { list: [{ a: 1 }] };
  const copy = ownJson(source) as unknown as typeof source;
  source.list[0] = { a: 2 };
  source.list.push({ a: 3 });
  expect(copy).toEqual({ list: [{ a: 1 }] });
  expect([copy, copy.list, copy.list[0]].every(Object.isFrozen)).toBe(true);
});

test("a digest is the SHA-256 of UTF-8, in a form of its own", () => {
  // The one of "abc" in FIPS 180-2.
  const abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  expect(digestOf("abc")).toBe(abc);
  expect(digestOf(new TextEncoder().encode("abc"))).toBe(abc);
  expect(digestJson("é")).toBe(digestOf(new Uint8Array([0x22, 0xc3, 0xa9, 0x22])));
  expect([abc, abc.toUpperCase(), abc.slice(7), `${abc}0`, `${abc}\n`, 1].map(isDigest)).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);

test("canonical JSON is JSON of the same value", () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(value);
      expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
    }),
  );
});

test("the order in which keys were added makes no difference", () => {
  fc.assert(
    fc.property(json, fc.infiniteStream(fc.nat(1000)), (value, order) => {
      expect(canonicalJson(reordered(value, order))).toBe(canonicalJson(value));
    }),
  );
});

test("two values have the same digest exactly when they are equal", () => {
  const small = fc.letrec((tie) => ({
    value: fc.oneof(
      fc.constantFrom(0, 1, "0", "", null, false, "a"),
      fc.array(tie("value"), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("a", "b", "0"), tie("value"), { maxKeys: 2 }),
    ),
  })).value;
  fc.assert(
    fc.property(small, small, (one, other) => {
      expect(digestJson(one) === digestJson(other)).toBe(Bun.deepEquals(one, other, false));
    }),
    { numRuns: 400 },
  );
});

function reordered(value: unknown, order: Iterator<number>): unknown {
  if (Array.isArray(value)) return value.map((member) => reordered(member, order));
  if (typeof value !== "object" || value === null) return value;
  const ranked = Object.entries(value).map((entry) => ({ entry, rank: Number(order.next().value) }));
  ranked.sort((one, other) => one.rank - other.rank);
  return Object.fromEntries(ranked.map(({ entry: [key, member] }) => [key, reordered(member, order)]));
}
