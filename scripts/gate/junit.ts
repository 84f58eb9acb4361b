import { existsSync, readFileSync } from "node:fs";

export interface TestCount {
  readonly passed: number;
  readonly failed: number;
  /** The test files that reported, relative to where the run was started. */
  readonly files: readonly string[];
  /** Each failed test as "FILE:LINE NAME: what failed", on one line. */
  readonly failures: readonly string[];
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
    failures: Array.from(xml.matchAll(failedTest), ([, name = "", file = "", line = "", message = ""]) =>
      plainText(`${file}:${line} ${name}: ${message}`),
    ),
  };
}

const failedTest =
  /<testcase name="([^"]*)"[^>]*? file="([^"]*)" line="(\d+)"[^>]*>\s*<failure [^>]*?message="([^"]*)"/g;

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/** An attribute's text on one line, at most 400 characters. */
function plainText(attributeText: string): string {
  return attributeText
    .replace(/&(?:#10|#13|#9);/g, " ")
    .replace(/&(lt|gt|quot|apos|amp);/g, (_, name) => entities[name] ?? "")
    .replace(/\s+/g, " ")
    .slice(0, 400);
}

function attribute(tag: string, name: string): number {
  const value = new RegExp(` ${name}="(\\d+)"`).exec(tag)?.[1];
  if (value === undefined) throw new Error(`JUnit: expected ${name}="…" in ${tag}`);
  return Number(value);
}
