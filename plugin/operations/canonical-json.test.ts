import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { canonicalJson, NotPortableJson } from "./canonical-json.ts";

/** The text, or undefined when the value is refused. */
function textOf(value: unknown, maxLength?: number): string | undefined {
  try {
    return canonicalJson(value, maxLength);
  } catch (error) {
    if (error instanceof NotPortableJson) return undefined;
    throw error;
  }
}

/** An array or object that counts how often one of its members is read. */
function counted<T extends object>(members: T): { readonly value: T; reads(): number } {
  let reads = 0;
  const value = new Proxy(members, {
    getOwnPropertyDescriptor(target, key) {
      reads += 1;
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
  return { value, reads: () => reads };
}

const values = fc.oneof(
  fc.jsonValue({ maxDepth: 6 }),
  fc.anything({
    withBigInt: true,
    withDate: true,
    withNullPrototype: true,
    withSparseArray: true,
    values: [
      fc.double(),
      fc.maxSafeInteger(),
      fc.string({ unit: "binary" }),
      fc.constantFrom("é", "\u0000", "😀"),
    ],
  }),
);

describe("a limit of the text", () => {
  test("refuses exactly the values whose whole text is longer, and changes no other text", () => {
    fc.assert(
      fc.property(values, fc.nat(200), (value, limit) => {
        const whole = textOf(value);
        const length = whole?.length ?? 0;
        for (const each of [limit, length - 1, length, length + 1, 262_144]) {
          expect(textOf(value, each)).toBe(length > each ? undefined : whole);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("counts the brackets, quotes, commas and escapes too", () => {
    for (const value of [
      "",
      "\n",
      0,
      -1.5,
      null,
      [],
      {},
      [[]],
      [1, 2],
      { "": "" },
      { a: [{}], "\t": [""] },
    ]) {
      const whole = canonicalJson(value);
      expect(textOf(value, whole.length)).toBe(whole);
      expect(textOf(value, whole.length - 1)).toBeUndefined();
    }
  });

  test("ends the reading of an array that is too long before its first element", () => {
    const { value: array, reads } = counted(Array.from({ length: 1000 }, () => 1));
    expect(textOf({ a: array }, 2000)).toBeUndefined();
    expect(reads()).toBe(0);
  });

  test("ends the reading of arrays in arrays where the text has become too long", () => {
    const { value: array, reads } = counted(Array.from({ length: 100 }, () => 1));
    expect(textOf({ a: Array.from({ length: 1000 }, () => array) }, 10_000)).toBeUndefined();
    expect(reads()).toBeLessThanOrEqual(5000);
    expect(reads()).toBeGreaterThan(4000);
  });

  test("ends the reading of a second array by what the first one took", () => {
    const { value: array, reads } = counted(Array.from({ length: 4900 }, () => 1));
    expect(textOf([array, array], 10_000)).toBeUndefined();
    expect(reads()).toBe(4900);
  });

  test("ends the reading of numbers that are longer than a digit", () => {
    const fraction = 0.1234567890123456;
    const { value: array, reads } = counted(Array.from({ length: 4000 }, () => fraction));
    expect(textOf({ a: array }, 10_000)).toBeUndefined();
    expect(reads()).toBeLessThanOrEqual(600);

    const members = Array.from({ length: 1500 }, (_, index) => [`k${index}`, fraction]);
    const { value: object, reads: readsOfObject } = counted(Object.fromEntries(members) as object);
    expect(textOf({ a: object }, 10_000)).toBeUndefined();
    expect(readsOfObject()).toBeLessThanOrEqual(500);
  });

  test("ends the reading of one array that stands in many places, which doubles with each level", () => {
    const { value: leaf, reads } = counted([1, 1]);
    let value: unknown = leaf;
    for (let level = 0; level < 20; level += 1) value = [value, value];
    expect(textOf({ a: value }, 10_000)).toBeUndefined();
    expect(reads()).toBeLessThanOrEqual(5000);
  });

  test("ends the reading of members where the text has become too long", () => {
    const { value: array, reads } = counted(["a".repeat(97)]);
    const object = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, array]));
    expect(textOf(object, 10_000)).toBeUndefined();
    expect(reads()).toBeLessThanOrEqual(100);
    expect(reads()).toBeGreaterThan(80);
  });

  test("says where the text became too long, and nothing of the value", () => {
    expect(() => canonicalJson({ a: { list: ["x".repeat(50)] } }, 40)).toThrow(
      "$.a.list[0]: longer than the limit",
    );
  });
});
