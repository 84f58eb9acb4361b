import { expect, test } from "bun:test";
import type { JobRequirement } from "./job-requirement.ts";
import { matchHostCapabilities } from "./match-host-capabilities.ts";

const equals = (value: string | number | boolean): JobRequirement => ({
  key: "fact",
  condition: "equals",
  value,
});
const oneOf = (...values: (string | number | boolean)[]): JobRequirement => ({
  key: "fact",
  condition: "one-of",
  values,
});
const atLeast = (value: number): JobRequirement => ({ key: "fact", condition: "at-least", value });

test.each([
  [equals("linux"), "linux", true],
  [equals("linux"), "Linux", false],
  [equals(8), 8, true],
  [equals(8), "8", false],
  [equals("8"), 8, false],
  [equals(true), true, true],
  [equals(true), 1, false],
  [equals(false), undefined, false],
  [equals(""), "", true],
  [oneOf("arm64", "x64"), "x64", true],
  [oneOf("arm64", "x64"), "ia32", false],
  [oneOf(1, 2), "1", false],
  [atLeast(8), 8, true],
  [atLeast(8), 9, true],
  [atLeast(8), 7.99, false],
  [atLeast(-1), -1, true],
  [atLeast(8), "16", false],
  [atLeast(0), true, false],
  [atLeast(0), Number.POSITIVE_INFINITY, false],
  [atLeast(0), Number.NaN, false],
  [atLeast(0), 5n, false],
  [equals("a"), ["a"], false],
  [equals("a"), new String("a"), false],
  [equals("a"), null, false],
])("%j against %p", (requirement, fact, met) => {
  expect(matchHostCapabilities([requirement], { fact })).toEqual(
    met ? { ok: true } : { ok: false, unmet: [requirement] },
  );
});

test("all requirements have to be met, and all that are not are told, in order", () => {
  const requirements = [equals("x"), { ...atLeast(4), key: "cpu" }, { ...oneOf("b"), key: "missing" }];
  expect(matchHostCapabilities(requirements, { fact: "y", cpu: 4 })).toEqual({
    ok: false,
    unmet: [equals("x"), { ...oneOf("b"), key: "missing" }],
  });
  expect(matchHostCapabilities([], {})).toEqual({ ok: true });
});

test("only own data properties are facts, and an accessor is not read", () => {
  let runs = 0;
  const get = (): string => {
    runs += 1;
    return "x";
  };
  const inherited = Object.create({ fact: "x" }) as Record<string, unknown>;
  expect(matchHostCapabilities([equals("x")], inherited).ok).toBe(false);
  expect(matchHostCapabilities([equals("x")], Object.defineProperty({}, "fact", { get })).ok).toBe(false);
  expect(matchHostCapabilities([{ ...oneOf("Object"), key: "constructor" }], {}).ok).toBe(false);
  expect(runs).toBe(0);
});
