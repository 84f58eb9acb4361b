import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./support/repository-files.ts";
import { standingOfTest } from "./support/standing-of-test.ts";

const page = readFileSync(join(root, "docs/reliability.md"), "utf8");
const rows = page.split("\n").filter((line) => line.startsWith("| BR-"));

test("every test that the page on reliability names is in its file, under that name, and runs; or the page says where", () => {
  const named = rows.flatMap((row) =>
    [...row.matchAll(/\[([^\]]+)\]\(\.\.\/\1\): "(.+?)"(?=<br>| +\|)/g)].map(
      ([link, path = "", name = ""]) => ({ row, link, path, name }),
    ),
  );
  expect(named.length).toBeGreaterThan(70);
  const wrong = named.flatMap(({ row, link, path, name }) => {
    const standing = standingOfTest(readFileSync(join(root, path), "utf8"), name);
    const isSaid = standing === "conditional" && row.includes(`${path} runs only where `);
    return standing === "runs" || isSaid ? [] : [`${standing}: ${link}`];
  });
  expect(wrong).toEqual([]);
});

test("a fault without a test says on the page why, or that it is not covered", () => {
  const untested = rows.filter((row) => /\| none +\|/.test(row));
  expect(untested.length).toBeGreaterThan(0);
  for (const row of untested) expect(row).toMatch(/Does not apply|Not covered/);
});

test.each([
  ["runs", 'test("a sentence", () => {});'],
  ["runs", 'test.each([["(", ")"]])(\n  "a sentence", // after a list\n  () => {}, 60_000);'],
  ["runs", 'const both = test.concurrent;\nboth.each(list)(named("a sentence"), () => {});'],
  [
    "runs",
    'test.skip("another", () => {});\ndescribe.each(list)("%s", () => { test("a sentence", () => {}); });',
  ],
  ["conditional", 'test.skipIf(isSmall)("a sentence", () => {});'],
  ["conditional", 'test.if(isLarge)("a sentence", () => {});'],
  [
    "conditional",
    'const maybe = isLarge ? test.concurrent : test.skip;\nmaybe(named("a sentence"), () => {});',
  ],
  ["conditional", 'describe.skipIf(isSmall)("all", () => { test("a sentence", () => {}); });'],
  ["never", 'test.skip("a sentence", () => {});'],
  ["never", 'test.todo("a sentence", () => {});'],
  ["never", 'test.concurrent.skip.each(list)("a sentence", () => {});'],
  ["never", 'test("a sentence");'],
  ["never", 'const later = test.todo;\nlater("a sentence", () => {});'],
  ["never", 'describe.skip("all", () => { test("a sentence", () => {}); });'],
  ["never", 'describe.todo("all", () => { test("a sentence", () => {}); });'],
  ["missing", '// test("a sentence", () => {});'],
  ["missing", '/* test("a sentence", () => {}); */ test("another", () => {});'],
  ["missing", 'note("a sentence", () => {});'],
  ["missing", 'test("a sentence and more", () => {});'],
  ["missing", 'const text = "a sentence";'],
] as const)("a test by a name %s where it is written as %s", (standing, source) => {
  expect(standingOfTest(source, "a sentence")).toBe(standing);
});
