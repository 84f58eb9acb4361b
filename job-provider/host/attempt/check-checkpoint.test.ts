import { expect, test } from "bun:test";
import { refusalOf } from "../../testing/refusal-of.ts";
import { checkCheckpoint } from "./check-checkpoint.ts";

test.each([
  ["frame[1].txt", "a glob"],
  ["run:1.txt", "a drive or a URL scheme"],
  ["a//b", "an empty segment"],
  ["../a", "a segment . or .."],
])("a path that no revision has is refused where it stands, before a store is asked: %s", (path, problem) => {
  const refusal = refusalOf(() => checkCheckpoint({ paths: ["fine", path], metadata: {} }, undefined));
  expect(refusal).toContain("/checkpoint/paths/1: ");
  expect(refusal).toContain(problem);
});
