import { expect, test } from "bun:test";
import { explicitPointersOf } from "./explicit-pointers-of.ts";

test("every written member is supplied on purpose, objects by their members and arrays as one thing", () => {
  const written = { b: null, a: { "x/y": 0, "~": "", deep: { flag: false } }, list: [1, { c: 2 }], none: {} };
  expect(explicitPointersOf(written)).toEqual(["/a/deep/flag", "/a/x~1y", "/a/~0", "/b", "/list"]);
  expect(explicitPointersOf("text")).toEqual([""]);
  expect(explicitPointersOf({})).toEqual([]);
});

test("the order of the members makes no other request", () => {
  expect(explicitPointersOf({ a: 1, b: 2 })).toEqual(explicitPointersOf({ b: 2, a: 1 }));
});
