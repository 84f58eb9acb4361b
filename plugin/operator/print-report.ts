import type { CheckReport } from "./check.ts";
import type { FenceReport } from "./fence.ts";
import type { PlanReport } from "./plan.ts";
import type { OperatorCommand, RefusalCode } from "./report.ts";
import type { SetupReport } from "./setup.ts";
import type { UpgradeReport } from "./upgrade.ts";

/** Where the command writes. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

export type AnyReport = SetupReport | UpgradeReport | CheckReport | PlanReport | FenceReport | UsageRefusal;

/** A command line that never became a command; `internal` is a bug of ours. */
export interface UsageRefusal {
  readonly ok: false;
  readonly command: OperatorCommand | null;
  readonly schema: null;
  readonly code: "invalid_input" | "internal";
  readonly message: string;
  readonly next: null;
}

export function usageRefusal(
  message: string,
  { command = null, code = "invalid_input" }: Partial<Pick<UsageRefusal, "command" | "code">> = {},
): UsageRefusal {
  return { ok: false, command, schema: null, code, message, next: null };
}

/** Prints what a command reports, for a person or a program, and answers the exit code. */
export function printReport(output: Output, json: boolean, report: AnyReport): number {
  const exitCode = report.ok ? 0 : exitCodes[report.code];
  if (json) output.out(`${JSON.stringify({ ...report, exitCode })}\n`);
  else if (report.ok) output.out(describe(report));
  else output.err(`lenso-jobs: ${report.message}\n`);
  return exitCode;
}

const exitCodes: Readonly<Record<RefusalCode | "internal", number>> = {
  setup_required: 1,
  unmanaged: 1,
  upgrade_required: 1,
  ahead: 1,
  diverged: 1,
  not_owned: 1,
  unsupported_database: 1,
  invalid_input: 2,
  unknown_role: 2,
  busy: 3,
  permission_denied: 3,
  database_unavailable: 3,
  database_refused: 3,
  internal: 3,
};

function describe(report: Extract<AnyReport, { ok: true }>): string {
  if (report.command === "plan") {
    // The words are a comment, so that the whole output is a script.
    return `-- ${report.message}\n${report.sql}${report.sql === "" ? "" : "\n"}`;
  }
  if (report.command !== "check") return `${report.message}\n`;
  const { message, version, build, owner, role, instance, server, warnings } = report;
  return `${message}
  schema version  ${version} (this build: ${build})
  owner           ${owner}
  role            ${role}
  Instance        ${instance ?? "none yet"}
  PostgreSQL      ${server}
${warnings.map((warning) => `warning: ${warning}\n`).join("")}`;
}
