import { join } from "node:path";
import type { Settings } from "../run/read-settings.ts";
import type { Found } from "../run/run-scenarios.ts";
import { judge } from "./judge.ts";
import { spreadOf } from "./median.ts";
import { svgChart } from "./svg-chart.ts";
import { caveats, textReport } from "./text-report.ts";

/** Writes `bench.json`, `bench.md` and `bench.svg` into a folder. Answers with the text. */
export async function writeReport(folder: string, settings: Settings, found: Found): Promise<string> {
  const text = textReport(settings, found);
  const { results, failures, setups } = found;
  const json = {
    settings,
    caveats,
    setups,
    results: results.map((result) => ({ ...result, ...spreadOf(result.values) })),
    verdicts: judge(results),
    failures,
  };
  const caption = captionOf(settings, [
    "server_version",
    "fsync",
    "synchronous_commit",
    "CPUs",
    "Bun",
    "Node",
  ]);
  await Bun.write(join(folder, "bench.md"), text);
  await Bun.write(join(folder, "bench.json"), `${JSON.stringify(json, null, 2)}\n`);
  await Bun.write(join(folder, "bench.svg"), svgChart(results, caption));
  return text;
}

/** The picture has one line for it: what comes after a bracket or comma is in the text. */
function captionOf(settings: Settings, names: readonly string[]): string {
  return names.map((name) => `${name} ${(settings[name] ?? "?").replace(/ ?[(,].*/, "")}`).join(" · ");
}
