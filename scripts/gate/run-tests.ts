import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { redactCanaries } from "./canaries.ts";
import { readJUnit } from "./junit.ts";
import { root, runCommand } from "./run-command.ts";

export interface TestRun {
  /** Names the report: `.cache/junit/NAME.xml`. */
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** Globs of test files to leave out. */
  readonly leaveOut?: readonly string[];
  /** Where to look for test files. Default: the repository. */
  readonly folder?: string;
}

export interface TestRunResult {
  readonly passed: number;
  readonly failed: number;
  /** The failed tests, each on a line, canaries redacted: what stands above may have scrolled away. */
  readonly failures: readonly string[];
  /** Why the run does not count as green, beyond failed tests. Each counts as one failure. */
  readonly problems: readonly string[];
}

const maxMs = 17 * 60_000; // a synchronous endless loop in a test stops for nothing else

/** Runs the test files in three processes, since many tests wait for a limit to pass, and trusts the report more than the exit code. */
export async function runTests(run: TestRun): Promise<TestRunResult> {
  const folder = run.folder ?? root;
  const report = join(root, ".cache/junit", `${run.name}.xml`);
  rmSync(report, { force: true }); // yesterday's report must not speak for today's run
  mkdirSync(dirname(report), { recursive: true });
  const leaveOut = ["dist/**", ".cache/**", "**/node_modules/**", ...(run.leaveOut ?? [])];
  const expected = testFiles(folder, leaveOut);
  const { exitCode, canaries } = await runCommand(
    [
      process.execPath,
      "test",
      "--parallel=3",
      "--timeout=30000", // for what no test says otherwise of: a busy machine is no failure
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...leaveOut.map((glob) => `--path-ignore-patterns=${glob}`),
    ],
    { cwd: folder, env: run.env, timeoutMs: maxMs },
  );
  const count = readJUnit(report) ?? { passed: 0, failed: 0, files: [], failures: [] };
  const problems = [
    ...(exitCode !== 0 && count.failed === 0 ? [`bun test ended with code ${exitCode}`] : []),
    ...(count.passed === 0 ? ["no report, or not one test passed in it"] : []),
    ...expected.filter((file) => !count.files.includes(file)).map((file) => `${file} reported no test`),
    ...canaries.map((place) => `a canary came out on ${place}`),
  ];
  return {
    passed: count.passed,
    failed: count.failed,
    failures: count.failures.map(redactCanaries),
    problems,
  };
}

function testFiles(folder: string, leaveOut: readonly string[]): string[] {
  const ignored = leaveOut.map((glob) => new Bun.Glob(glob));
  return [...new Bun.Glob("**/*.test.ts").scanSync({ cwd: folder })].filter(
    (file) => !ignored.some((glob) => glob.match(file)),
  );
}
