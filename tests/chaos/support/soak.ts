import { join } from "node:path";
import type { TestDriver } from "../../postgres/support/jobs-host.ts";
import { fitLine } from "./fit-line.ts";
import type { SoakSample } from "./soak-sample.ts";

export interface SoakOptions {
  readonly url: string;
  readonly driver: TestDriver;
  /** It ends when so many jobs are done and so many ms have passed. */
  readonly jobs: number;
  readonly forMs: number;
  /** How many jobs lie between two samples. */
  readonly everyJobs: number;
  /** Each of eight producers' pause between two jobs, in ms. */
  readonly pauseMs: number;
  /** Keeps an array of eight rows for each job, and a descriptor for each hundred: what the measurement has to find. */
  readonly leaks: boolean;
}

/** How much a process grew in the second half of its life, by the line that fits its samples there: what grows only at first is no leak. */
export interface Growth {
  /** Of its whole life. */
  readonly jobs: number;
  readonly samples: number;
  readonly values: number;
  readonly heapKibibytes: number;
  readonly rssKibibytes: number;
  readonly descriptors: number;
  /** Bytes for each job, on the heap and in memory. */
  readonly bytesPerJob: readonly [heap: number, rss: number];
  /** What there was at the end. */
  readonly last: SoakSample;
}

/** Runs a process under load until it ends. Rejects when it ends badly. */
export async function soak(options: SoakOptions): Promise<Growth> {
  await using child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "soak-program.ts"), JSON.stringify(options)],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );
  const lines = (await child.stdout.text()).split("\n").filter(Boolean);
  const code = await child.exited;
  if (code !== 0) throw new Error(`the process under load ended with code ${code}`);
  return growthOf(lines.map((line) => JSON.parse(line) as SoakSample));
}

/** Growth by the samples of a whole life, in order. */
export function growthOf(samples: readonly SoakSample[]): Growth {
  const second = samples.slice(Math.floor(samples.length / 2));
  const [first, last] = [second[0], second.at(-1)];
  if (first === undefined || last === undefined) throw new Error("the process took no samples");
  const slope = (of: Exclude<keyof SoakSample, "jobs">): number =>
    fitLine(second.map((sample) => [sample.jobs, sample[of]]));
  const grown = (of: Exclude<keyof SoakSample, "jobs">): number => slope(of) * (last.jobs - first.jobs);
  return {
    jobs: last.jobs,
    samples: samples.length,
    values: Math.round(grown("values")),
    heapKibibytes: Math.round(grown("heap") / 1024),
    rssKibibytes: Math.round(grown("rss") / 1024),
    descriptors: Math.round(grown("descriptors") * 10) / 10,
    bytesPerJob: [Math.round(slope("heap")), Math.round(slope("rss"))],
    last,
  };
}
