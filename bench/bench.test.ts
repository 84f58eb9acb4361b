import { expect, test } from "bun:test";
import { join } from "node:path";
import { testDatabase } from "../tests/support/test-database.ts";
import { readCommandLine } from "./command-line.ts";
import { judge } from "./report/judge.ts";
import { spreadOf } from "./report/median.ts";
import { showNumber } from "./report/show-number.ts";
import { svgChart } from "./report/svg-chart.ts";
import { targets } from "./report/targets.ts";
import { textReport } from "./report/text-report.ts";
import { type Result, runScenarios } from "./run/run-scenarios.ts";
import { allScenarios } from "./scenarios/all-scenarios.ts";
import { drainAll } from "./scenarios/drain-all.ts";
import { percentile } from "./scenarios/percentile.ts";
import { onlyProcess, type Row, type Scenario } from "./scenarios/scenario.ts";
import { waitingJobs } from "./scenarios/waiting-jobs.ts";

const row: Row = { id: "enqueue-1", title: "enqueue, 1 in flight", unit: "jobs/s", better: "higher" };
const result = (side: Result["side"], ...values: number[]): Result => ({
  row,
  side,
  values,
  costs: undefined,
});

test("jobs are enqueued, filled in and drained through a side's own process, on the front door and the floor", async () => {
  const { url } = await testDatabase();
  const scenario: Scenario = {
    name: "smoke",
    sides: ["lenso-jobs", "floor"],
    once: true,
    rows: [row, { ...row, id: "drain" }],
    async measure(stand, record) {
      await waitingJobs(stand, 20);
      const process = onlyProcess(stand);
      const { startedAt, endedAt } = await process.ask("enqueue", { count: 10, width: 4 });
      expect(endedAt).toBeGreaterThan(startedAt);
      expect(await process.ask("claims", { count: 5 })).toHaveLength(5);
      const { costs, jobsPerSecond } = await drainAll(stand, 25, "batch");
      record("drain", jobsPerSecond, costs);
      record("enqueue-1", 10_000 / (endedAt - startedAt));
    },
  };
  const { results, failures, setups } = await runScenarios({
    scenarios: [scenario],
    rounds: 1,
    size: { quick: true, rows: [], churnMinutes: 0, holdMinutes: 0 },
    databaseUrl: url,
    say: () => undefined,
  });
  expect(failures).toEqual([]);
  expect(results.map((one) => [one.row.id, one.side, one.values.length])).toEqual([
    ["enqueue-1", "lenso-jobs", 1],
    ["enqueue-1", "floor", 1],
    ["drain", "lenso-jobs", 1],
    ["drain", "floor", 1],
  ]);
  expect(setups.map(({ side, runtime, settings }) => [side, runtime, settings.batch])).toEqual([
    ["lenso-jobs", "bun", "500 calls in flight"],
    ["floor", "bun", "1 × 500 in a statement"],
  ]);
  const drained = results[2]?.costs;
  expect(drained?.writeTransactions).toBeGreaterThan(0);
  expect(drained?.walBytes).toBeGreaterThan(100);
  expect(drained?.clientCpuMicroseconds).toBeGreaterThan(0);
});

test("a side that cannot be opened is reported, and the others are measured", async () => {
  const { url } = await testDatabase();
  const { results, failures } = await runScenarios({
    scenarios: [
      {
        name: "smoke",
        sides: ["floor", "lenso-jobs"],
        once: true,
        rows: [row],
        async measure(stand, record) {
          if (stand.spec.name === "floor") throw new Error("the floor gave way");
          record(row.id, 1);
        },
      },
    ],
    rounds: 1,
    size: { quick: true, rows: [], churnMinutes: 0, holdMinutes: 0 },
    databaseUrl: url,
    say: () => undefined,
  });
  expect(results.map(({ side }) => side)).toEqual(["lenso-jobs"]);
  expect(failures).toEqual([
    { scenario: "smoke", side: "floor", reason: expect.stringContaining("the floor gave way") },
  ]);
});

test("a target is judged by the ratio of the medians", () => {
  const verdicts = judge([result("lenso-jobs", 100, 300, 200), result("pg-boss", 100, 90, 1000)]);
  expect(verdicts).toHaveLength(1);
  expect(verdicts[0]).toMatchObject({ value: 2, must: true, aim: false });
});

test("a target of at most is missed by more", () => {
  const target = { row: row.id, us: "lenso-jobs", must: 6, aim: 2.5, is: "at most" } as const;
  expect(judge([result("lenso-jobs", 7)], [target])[0]).toMatchObject({ must: false, aim: false });
  expect(judge([result("lenso-jobs", 2)], [target])[0]).toMatchObject({ must: true, aim: true });
});

test("every target names a row and sides of some scenario", () => {
  const scenarios = allScenarios({ rows: [5_000_000] });
  for (const { row: id, us, against } of targets) {
    const scenario = scenarios.find(({ rows }) => rows.some((one) => one.id === id));
    expect(scenario?.sides, id).toContain(us);
    if (against !== undefined) expect(scenario?.sides, id).toContain(against);
  }
});

test("the report says the spread, the ratio, the verdict and what is not comparable", () => {
  const text = textReport(
    { fsync: "on" },
    {
      results: [result("lenso-jobs", 900, 1000, 1200), result("pg-boss", 400, 500, 600)],
      failures: [{ scenario: "drain", side: "bullmq", reason: "it is not installed" }],
      setups: [],
    },
  );
  expect(text).toContain("fsync on");
  expect(text).toMatch(/lenso-jobs\s+\| 1 000 \(900\.\.1 200\)/);
  expect(text).toMatch(/pg-boss\s+\| 500 \(400\.\.600\)\s+\| 2 /);
  expect(text).toMatch(/≥ 1\.7\s+\| met/);
  expect(text).toContain("graphile-worker deletes finished jobs and completes by id without a lease check");
  expect(text).toContain("- drain, bullmq: it is not installed");
});

test("the picture has a bar for each side, the longest for the highest figure, and escapes its texts", () => {
  const svg = svgChart([result("lenso-jobs", 1000), result("pg-boss", 250)], "a < b");
  const widths = [...svg.matchAll(/<rect x="190"[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width));
  expect(widths).toHaveLength(2);
  expect((widths[0] ?? 0) / (widths[1] ?? 1)).toBeCloseTo(4, 1);
  expect(svg).toContain("a &lt; b");
});

test("medians, spreads, percentiles and figures", () => {
  expect(spreadOf([3, 1, 2])).toEqual({ median: 2, lowest: 1, highest: 3 });
  expect(spreadOf([4, 1, 2, 3]).median).toBe(2.5);
  expect(() => spreadOf([])).toThrow(RangeError);
  const hundred = Array.from({ length: 100 }, (_, index) => index);
  expect(percentile(hundred, 0.99)).toBe(99);
  expect(percentile(hundred, 0.5)).toBe(50);
  expect([1234567, 12.345, 0.1234, 512].map((value) => showNumber(value))).toEqual([
    "1 235 000",
    "12.3",
    "0.123",
    "512",
  ]);
  expect(showNumber(3 * 1024 * 1024, "bytes")).toBe("3 MiB");
});

test("the command line chooses scenarios and refuses what it does not know", () => {
  const read = readCommandLine(["--only", "enqueue,drain", "--rounds", "2", "--quick"]);
  expect(read.scenarios.map(({ name }) => name)).toEqual(["enqueue", "drain"]);
  expect(read).toMatchObject({ rounds: 2, size: { quick: true, rows: [10_000] } });
  const names = (args: string[]): string[] => readCommandLine(args).scenarios.map(({ name }) => name);
  expect(names([])).not.toContain("churn");
  expect(names(["--churn-minutes", "5"])).toContain("churn");
  expect(() => readCommandLine(["--only", "enque"])).toThrow("no scenario is named enque");
  expect(() => readCommandLine(["--rounds", "0"])).toThrow("expected a positive integer");
});

test("peers that the package itself uses have the same version here", async () => {
  const read = async (path: string): Promise<Record<string, string>> =>
    (await Bun.file(join(import.meta.dir, path)).json()).devDependencies;
  const [ours, root] = await Promise.all([read("package.json"), read("../package.json")]);
  for (const name of ["pg", "pg-boss"]) expect(ours[name]).toBe(root[name] ?? "missing");
  for (const version of Object.values(ours)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
});
