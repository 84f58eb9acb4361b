import { expect, test } from "bun:test";
import { digestOf } from "../canonical/digest.ts";
import { refusalOf } from "../testing/refusal-of.ts";
import { digestWith } from "../testing/valid-submission.ts";
import { rootedPathProblem } from "./rooted-path.ts";
import { treeDigest } from "./tree-digest.ts";

const a = { path: "/a", length: 0, digest: digestWith("a") };
const b = { path: "/b/c", length: 12, digest: digestWith("b") };

test("a tree's digest is over its sorted entries as canonical JSON", () => {
  const text = `[["/a",0,"${digestWith("a")}"],["/b/c",12,"${digestWith("b")}"]]`;
  expect(treeDigest([b, a])).toBe(digestOf(text));
  expect(treeDigest(new Set([a, b]))).toBe(digestOf(text));
  expect(treeDigest([])).toBe(digestOf("[]"));
});

test("every part of an entry counts", () => {
  const others = [
    { ...b, path: "/b/d" },
    { ...b, length: 13 },
    { ...b, digest: digestWith("c") },
  ];
  expect(new Set([b, ...others].map((entry) => treeDigest([a, entry]))).size).toBe(4);
});

test.each([
  [{ path: "a" }, "/1/path: a path that does not start at the root"],
  [{ path: "/a" }, "/1/path: the same path stands twice"],
  [{ length: -1 }, "/1/length: expected a number of bytes"],
  [{ length: 1.5 }, "/1/length"],
  [{ length: -0 }, "/1/length"],
  [{ digest: "sha256:0" }, "/1/digest: expected sha256:"],
])("an entry with %j is refused with its place", (change, message) => {
  expect(refusalOf(() => treeDigest([a, { ...b, ...change }]))).toStartWith(message);
});

test.each([
  "/a",
  "/a/b.c/d",
  "/.hidden",
  "/..a/...",
  "/a b/ü/\u{1F600}",
  "/%2e%2e/x",
  "/~/x{y}",
  "/a/c:d",
  "/1:2",
  `/${"a".repeat(4095)}`,
])("%s is a rooted literal path", (path) => {
  expect(rootedPathProblem(path)).toBeUndefined();
});

test.each([
  ["", "expected 1..4096 characters, got 0"],
  [`/${"a".repeat(4096)}`, "expected 1..4096 characters, got 4097"],
  [1, "expected a text"],
  ["a/b", "does not start at the root"],
  ["./a", "does not start at the root"],
  ["/", "an empty segment"],
  ["/a/", "an empty segment"],
  ["//host/share", "an empty segment"],
  ["/a//b", "an empty segment"],
  ["/a/../b", "a segment . or .."],
  ["/..", "a segment . or .."],
  ["/./a", "a segment . or .."],
  ["/a/.", "a segment . or .."],
  ["/a\\..\\b", "a backslash"],
  ["\\\\host\\share", "a backslash"],
  ["C:/a", "a drive or a URL scheme"],
  ["/C:/a", "a drive or a URL scheme"],
  ["C:\\a", "a drive or a URL scheme"],
  ["file:///a", "a drive or a URL scheme"],
  ["/https:/a", "a drive or a URL scheme"],
  ["/*.stl", "a glob"],
  ["/a?", "a glob"],
  ["/[ab]", "a glob"],
  ["/a]", "a glob"],
  ["/a\0b", "a control character"],
  ["/a\nb", "a control character"],
  ["/a\u007F", "a control character"],
  ["/a\u0085", "a control character"],
  ["/a\uD800", "a lone surrogate"],
])("%j is none: %s", (path, problem) => {
  expect(rootedPathProblem(path)).toContain(problem);
});
