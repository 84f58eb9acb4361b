import { existsSync, readFileSync } from "node:fs";

export interface TestCount {
  readonly passed: number;
  readonly failed: number;
  /** The test files that reported, relative to where the run was started. */
  readonly files: readonly string[];
}

/**
 * Counts what a run reported. Undefined without a report: a `process.exit(0)` inside a test ends a run with code 0 before
 * it writes one, so a missing report is a failure whatever the exit code says.
 */
export function readJUnit(path: string): TestCount | undefined {
  const xml = existsSync(path) ? readFileSync(path, "utf8") : "";
  const totals = /<testsuites [^>]*>/.exec(xml)?.[0];
  if (!totals) return undefined;
  const failed = attribute(totals, "failures");
  return {
    passed: attribute(totals, "tests") - failed - attribute(totals, "skipped"),
    failed,
    files: [
      ...new Set(Array.from(xml.matchAll(/<testsuite [^>]*?file="([^"]+)"/g), (match) => match[1] ?? "")),
    ],
  };
}

function attribute(tag: string, name: string): number {
  const value = new RegExp(` ${name}="(\\d+)"`).exec(tag)?.[1];
  if (value === undefined) throw new Error(`JUnit: expected ${name}="…" in ${tag}`);
  return Number(value);
}
