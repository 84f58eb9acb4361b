import { describe, expect, test } from "bun:test";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { drivers } from "../postgres/support/jobs-host.ts";
import { findGrowth } from "./support/find-growth.ts";
import { fitLine } from "./support/fit-line.ts";
import { type Growth, growthOf, type SoakOptions, soak } from "./support/soak.ts";
import type { SoakSample } from "./support/soak-sample.ts";

const isLong = process.env.SOAK_LONG === "1";
const minutes = isLong ? Number(process.env.SOAK_MINUTES ?? 60) : 0;
// Long lives go on at the pace of a busy service, short ones as fast as they can.
const load = isLong
  ? { jobs: 20_000, everyJobs: 1000, pauseMs: 10, forMs: minutes * 60_000 }
  : { jobs: 5000, everyJobs: 125, pauseMs: 0, forMs: 0 };

async function live(options: Pick<SoakOptions, "driver" | "leaks"> & Partial<SoakOptions>): Promise<Growth> {
  const { url } = await jobsDatabase();
  return soak({ url, ...load, ...options });
}

test(
  `a process that works through ${isLong ? `${minutes} minutes` : "thousands of jobs"} keeps nothing of them, over either driver`,
  async () => {
    const growths = await Promise.all(drivers.map((driver) => live({ driver, leaks: false })));
    for (const [index, growth] of growths.entries())
      console.log(JSON.stringify({ soak: drivers[index], minutes, ...growth }));
    expect(growths.map(findGrowth)).toEqual(drivers.map(() => []));
  },
  isLong ? (minutes + 10) * 60_000 : 480_000,
);

test("a process that keeps one array of each job, and a descriptor now and then, is found by every measure", async () => {
  const growth = await live({
    driver: "bun",
    leaks: true,
    jobs: 5000,
    everyJobs: 125,
    pauseMs: 0,
    forMs: 0,
  });
  expect(findGrowth(growth).map((what) => what.split(" ")[0])).toEqual([
    "values",
    "heapKibibytes",
    "rssKibibytes",
    ...(process.platform === "linux" ? ["descriptors"] : []),
  ]);
}, 480_000);

describe("the growth of a process", () => {
  const sample = (jobs: number, heap: number): SoakSample => ({
    jobs,
    heap,
    rss: 0,
    values: 0,
    descriptors: 0,
  });

  test("is the slope of the second half alone, whatever happened in the first", () => {
    const samples = [0, 1, 2, 3].map((at) => sample(at * 100, at < 2 ? at * 1e9 : 1e9 + at * 102_400));
    expect(growthOf(samples)).toMatchObject({ jobs: 300, samples: 4, heapKibibytes: 100 });
  });

  test("is the fitted line's: single samples that stand out do not make it", () => {
    const points = Array.from({ length: 21 }, (_, x) => [x, x === 10 ? 500 : 3 * x + 7] as const);
    expect(fitLine(points)).toBeCloseTo(3, 6);
    expect(() => fitLine([[1, 1]])).toThrow("expected at least 2 points, got 1");
  });
});
