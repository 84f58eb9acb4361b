import { expect, test } from "bun:test";
import { layoutProblems } from "./layout-problems.ts";

const long = "ü".repeat(128);

test.each([
  [["/a", "/a/b"], ["/a"]],
  [["/a/b/c", "/a b", "/a!", "/a"], ["/a"]],
  [
    ["/a/b", "/a/b/c", "/a", "/a/c"],
    ["/a", "/a/b"],
  ],
  [["/a", "/ab/c", "/a.b", "/b/a"], []],
  [
    [`/${long}/x`, `/x/${long}`, `/${long.slice(1)}`],
    [`/${long}/x`, `/x/${long}`],
  ],
  [[], []],
])("paths that no file system can have side by side are found: %j", (paths, expected) => {
  expect([...layoutProblems(paths).keys()].sort()).toEqual([...expected].sort());
});
