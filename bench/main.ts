// This package and its peers side by side on one server, in turns: see README.md. `bun bench/main.ts --list`.
import { resolve } from "node:path";
import { readCommandLine, usage } from "./command-line.ts";
import { writeReport } from "./report/write-report.ts";
import { openBenchDatabase } from "./run/bench-database.ts";
import { readSettings } from "./run/read-settings.ts";
import { runScenarios } from "./run/run-scenarios.ts";
import { allScenarios } from "./scenarios/all-scenarios.ts";
import { sides } from "./sides/catalogue.ts";

let commandLine: ReturnType<typeof readCommandLine>;
try {
  commandLine = readCommandLine(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exit(2);
}
if (commandLine.list) {
  console.log(
    `scenarios: ${allScenarios(commandLine.size)
      .map(({ name }) => name)
      .join(", ")}`,
  );
  console.log(`sides: ${Object.keys(sides).join(", ")}`);
  process.exit(0);
}

// The first Ctrl-C asks for the report of what there is; a second one ends at once.
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());

const { out, ...plan } = commandLine;
await using database = await openBenchDatabase(process.env["DATABASE_URL"] || undefined);
const settings = await readSettings(database.url, database.place);
const found = await runScenarios({
  ...plan,
  databaseUrl: database.url,
  signal: stopping.signal,
  say: (line) => console.log(line),
});
const folder = resolve(out);
console.log(`\n${await writeReport(folder, settings, found)}`);
console.log(`Written to ${folder}`);
if (found.failures.length > 0) process.exitCode = 1;
