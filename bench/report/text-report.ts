import type { Settings } from "../run/read-settings.ts";
import type { Found } from "../run/run-scenarios.ts";
import { sides } from "../sides/catalogue.ts";
import { judge } from "./judge.ts";
import { spreadOf } from "./median.ts";
import { showNumber } from "./show-number.ts";

/** What has to be said beside every ratio. */
export const caveats: readonly string[] = [
  "Ratios travel between machines, absolute figures do not. Medians (lowest..highest) of the rounds, all sides in turns.",
  "Ours goes through the front door: a JobsClient of a composed host, or the task queue; batches are that many concurrent calls.",
  "graphile-worker deletes finished jobs and completes by id without a lease check; ours keeps them, checks every lease, and is idempotent.",
  "pg-boss completes by id here and has no idempotency key. Its default polling, half a job a second, is not compared.",
  "BullMQ runs on PostgreSQL here, not on Redis. The floor is a raw insert, update and delete: no queue, only the least that one sends.",
];

/** The report as Markdown. */
export function textReport(settings: Settings, { results, failures, setups }: Found): string {
  const rows = [...new Map(results.map(({ row }) => [row.id, row])).values()];
  return [
    "# Side by side",
    "",
    Object.entries(settings)
      .map(([name, value]) => `${name} ${value}`)
      .join(" · "),
    "",
    ...caveats.map((line) => `- ${line}`),
    "",
    "## Figures",
    "",
    ...table(
      ["Work", "Unit", "Side", "Median (lowest..highest)", "First of ours ÷ it"],
      rows.flatMap((row) => figuresOf(results.filter((result) => result.row.id === row.id))),
    ),
    "",
    "## Set-up of each side",
    "",
    ...table(
      ["Side", "Runs on", "batch", "best", "default", "pick-up"],
      setups.map(({ side, runtime, settings: { batch, best, default: plain, prompt } }) => [
        side,
        runtime,
        batch,
        best,
        plain,
        prompt,
      ]),
    ),
    "",
    "## Targets",
    "",
    ...table(["Work", "Ours", "Against", "Value", "Must", "", "Aim", ""], verdictLines(results)),
    "",
    "## What a job costs",
    "",
    ...table(
      ["Work", "Side", "write transactions", "WAL bytes", "server CPU µs", "client CPU µs"],
      results.flatMap(costLine),
    ),
    ...(failures.length === 0 ? [] : ["", "## Not measured", ""]),
    ...failures.map(({ scenario, side, reason }) => `- ${scenario}, ${side}: ${reason}`),
    "",
  ].join("\n");
}

function figuresOf(results: Found["results"]): string[][] {
  const ours = results.find(({ side }) => sides[side].maker === "us");
  return results.map(({ row, side, values }, index) => {
    const { median, lowest, highest } = spreadOf(values);
    const show = (value: number): string => showNumber(value, row.unit);
    const isOurs = side === ours?.side;
    const ratio = ours && !isOurs ? showNumber(spreadOf(ours.values).median / median) : "";
    return [
      index === 0 ? row.title : "",
      index === 0 ? row.unit : "",
      side,
      values.length === 1 ? show(median) : `${show(median)} (${show(lowest)}..${show(highest)})`,
      ratio,
    ];
  });
}

function verdictLines(results: Found["results"]): string[][] {
  return judge(results).map(({ target, title, value, must, aim }) => {
    const limit = (figure: number): string => `${target.is === "at least" ? "≥" : "≤"} ${showNumber(figure)}`;
    return [
      title,
      target.us,
      target.against ?? "",
      showNumber(value),
      limit(target.must),
      must ? "met" : "NOT MET",
      target.aim === undefined ? "" : limit(target.aim),
      aim === undefined ? "" : aim ? "met" : "not met",
    ];
  });
}

function costLine({ row, side, costs }: Found["results"][number]): string[][] {
  if (costs === undefined) return [];
  const { writeTransactions, walBytes, serverCpuMicroseconds, clientCpuMicroseconds } = costs;
  return [
    [
      row.title,
      side,
      showNumber(writeTransactions),
      showNumber(walBytes),
      showNumber(serverCpuMicroseconds ?? Number.NaN),
      showNumber(clientCpuMicroseconds),
    ],
  ];
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(Math.max(3, width)))), ...lines.map(line)];
}
