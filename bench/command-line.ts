import { parseArgs } from "node:util";
import type { Plan } from "./run/run-scenarios.ts";
import { allScenarios } from "./scenarios/all-scenarios.ts";
import { type SideName, sides } from "./sides/catalogue.ts";

/** What `bun bench/main.ts` takes. */
export const usage = `bun bench/main.ts [options]      with DATABASE_URL on that server, otherwise on an embedded one

  --rounds N            counted rounds after one to warm up, default 3
  --only A,B            scenarios by name (see --list); default: all that are not on request
  --sides A,B           sides by name
  --quick               small counts: to see that it works
  --rows A,B            sizes of the backlog scenario, default 100000,1000000,5000000 (quick: 10000)
  --churn-minutes N     adds the scenario churn
  --hold-minutes N      adds the scenario held
  --peers-on bun|node   where peers run; default: where their authors say, which is Node
  --out FOLDER          where bench.json, bench.md and bench.svg go, default .cache/bench
  --list                the names of scenarios and sides`;

export interface CommandLine extends Omit<Plan, "databaseUrl" | "signal" | "say"> {
  readonly out: string;
  readonly list: boolean;
}

/** @throws Error that says what is wrong. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "3" },
      only: { type: "string" },
      sides: { type: "string" },
      quick: { type: "boolean", default: false },
      rows: { type: "string" },
      "churn-minutes": { type: "string", default: "0" },
      "hold-minutes": { type: "string", default: "0" },
      "peers-on": { type: "string" },
      out: { type: "string", default: ".cache/bench" },
      list: { type: "boolean", default: false },
    },
  });
  const { quick, out, list } = values;
  const rows = names(values.rows ?? (quick ? "10000" : "100000,1000000,5000000")).map((text) =>
    positive("--rows", text),
  );
  const churnMinutes = amount("--churn-minutes", values["churn-minutes"]);
  const holdMinutes = amount("--hold-minutes", values["hold-minutes"]);
  const all = allScenarios({ rows });
  const known = all.map(({ name }) => name);
  const only = values.only === undefined ? undefined : oneOf("scenario", names(values.only), known);
  const onRequest = [...(churnMinutes > 0 ? ["churn"] : []), ...(holdMinutes > 0 ? ["held"] : [])];
  const scenarios = all.filter(
    ({ name, onRequest: asked }) =>
      onRequest.includes(name) || (only === undefined ? !asked : only.includes(name)),
  );
  const sideNames = Object.keys(sides) as SideName[];
  const wanted =
    values.sides === undefined ? undefined : (oneOf("side", names(values.sides), sideNames) as SideName[]);
  const peersOn = values["peers-on"];
  if (peersOn !== undefined && peersOn !== "bun" && peersOn !== "node")
    throw new Error(`--peers-on: expected bun or node, got ${peersOn}`);
  return {
    scenarios,
    ...(wanted === undefined ? {} : { sides: wanted }),
    rounds: positive("--rounds", values.rounds),
    size: { quick, rows, churnMinutes, holdMinutes },
    ...(peersOn === undefined
      ? {}
      : { runtimes: { "pg-boss": peersOn, "graphile-worker": peersOn, bullmq: peersOn } }),
    out,
    list,
  };
}

function names(text: string): string[] {
  return text.split(",").map((name) => name.trim());
}

function oneOf(what: string, given: readonly string[], known: readonly string[]): readonly string[] {
  const stranger = given.find((name) => !known.includes(name));
  if (stranger === undefined) return given;
  throw new Error(`no ${what} is named ${stranger}; there are ${known.join(", ")}`);
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`${option}: expected a positive integer, got ${text}`);
}

function amount(option: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new Error(`${option}: expected a number of minutes, got ${text}`);
}
