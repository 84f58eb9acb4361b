import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./support/repository-files.ts";

const page = readFileSync(join(root, "docs/reliability.md"), "utf8");
const rows = page.split("\n").filter((line) => line.startsWith("| BR-"));

test("every test that the page on reliability names is in its file, under that name", () => {
  const named = rows.flatMap((row) => [...row.matchAll(/\[([^\]]+)\]\(\.\.\/\1\): "(.+?)"(?=<br>| +\|)/g)]);
  expect(named.length).toBeGreaterThan(70);
  const missing = named.filter(
    ([, path = "", name = ""]) => !readFileSync(join(root, path), "utf8").includes(name),
  );
  expect(missing.map(([link]) => link)).toEqual([]);
});

test("a fault without a test says on the page why, or that it is not covered", () => {
  const untested = rows.filter((row) => /\| none +\|/.test(row));
  expect(untested.length).toBeGreaterThan(0);
  for (const row of untested) expect(row).toMatch(/Does not apply|Not covered/);
});
