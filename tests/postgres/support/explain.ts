import { SQL } from "bun";
import type { Database } from "../../../plugin/store/database.ts";
import type { SqlValue } from "../../../plugin/store/drivers/driver.ts";
import { sessionSettings } from "../../../plugin/store/session-settings.ts";

/** A statement as the store sends it. */
export interface Statement {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** What a query function would send, without sending it. */
export async function statementOf(send: (db: Database) => Promise<unknown>): Promise<Statement> {
  const sent: Statement[] = [];
  const recorder = {
    query: async (_lane: string, text: string, values: readonly SqlValue[]) => {
      sent.push({ text, values });
      return [];
    },
  };
  await send(recorder as unknown as Database);
  if (sent.length !== 1) throw new Error(`expected one statement, ${sent.length} were sent`);
  return sent[0] as Statement;
}

/** A connection with the very settings of the engine's. */
export function engineConnection(url: string): SQL {
  const connection = {
    ...sessionSettings({ statementTimeoutMs: 60_000, lockTimeoutMs: 1000 }),
    application_name: "plans",
  };
  return new SQL({ url, max: 1, connection });
}

export interface PlanNode {
  readonly "Node Type": string;
  readonly "Parent Relationship"?: string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

/**
 * The generic plan of a statement, as a server keeps it, and what running it came to; its effects are rolled back unless told.
 * With `afterwards`, the plan is made first and meets what that puts into the tables.
 */
export async function explain(
  sql: SQL,
  { text, values }: Statement,
  end: "rollback" | "commit" = "rollback",
  afterwards?: () => Promise<void>,
): Promise<PlanNode> {
  const literals = values.map((value) => (value === null ? "null" : `'${value.replaceAll("'", "''")}'`));
  await sql.unsafe(`prepare planned as ${text}`).simple();
  try {
    const execute = `execute planned${literals.length > 0 ? ` (${literals.join(", ")})` : ""}`;
    if (afterwards !== undefined) {
      await sql.unsafe(execute).simple();
      await afterwards();
    }
    await sql.unsafe("begin").simple();
    const rows = await sql.unsafe(`explain (analyze, buffers, timing off, format json) ${execute}`).simple();
    await sql.unsafe(end).simple();
    const plan = (rows as unknown as Record<string, unknown>[])[0]?.["QUERY PLAN"];
    const parsed = (typeof plan === "string" ? JSON.parse(plan) : plan) as [{ Plan: PlanNode }];
    return parsed[0].Plan;
  } finally {
    await sql.unsafe("deallocate planned").simple();
  }
}

/** Every node of a plan, the top one first. */
export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** A node and what flows into it without a limit, sub-selects and CTEs left out: they run on their own. */
function inputsOf(node: PlanNode): PlanNode[] {
  if (node["Node Type"] === "Limit") return [node];
  const inputs = (node.Plans ?? []).filter(
    (each) => !/InitPlan|SubPlan/.test(each["Parent Relationship"] ?? ""),
  );
  return [node, ...inputs.flatMap(inputsOf)];
}

/** Pages that the statement touched in all. */
export function buffersOf(plan: PlanNode): number {
  return (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
}

/** What is wrong with a plan: a scan that walks a table or a backlog, or a sort over one. */
export function planProblems(plan: PlanNode): string[] {
  const allowed = new Set([
    "Index Scan",
    "Index Only Scan",
    "Tid Scan",
    "Function Scan",
    "CTE Scan",
    "WorkTable Scan",
    "Subquery Scan",
  ]);
  const problems: string[] = [];
  for (const node of nodesOf(plan)) {
    const type = node["Node Type"];
    // Some few rows of jobs by their ids are as good by bitmap.
    if (type.startsWith("Bitmap") && nodesOf(node).at(-1)?.["Index Name"] === "jobs_pkey") continue;
    if (type.startsWith("Index") && node["Index Cond"] === undefined)
      problems.push(`${type} over all of ${node["Relation Name"] ?? "?"}`);
    if (type.endsWith("Scan") && !allowed.has(type))
      problems.push(`${type} on ${node["Relation Name"] ?? "?"}`);
    if (type === "Sort" || type === "Incremental Sort") {
      const below = inputsOf(node).find(
        (each) =>
          ["ready", "lease", "outcome"].includes(each["Relation Name"] ?? "") &&
          each["Node Type"] !== "Tid Scan",
      );
      if (below) problems.push(`${type} over ${below["Relation Name"] ?? "?"}`);
    }
  }
  return problems;
}

/** Rows that scans of a table gave or threw away, in all. */
export function rowsScanned(plan: PlanNode, table: string): number {
  return nodesOf(plan)
    .filter((node) => node["Relation Name"] === table && node["Node Type"].endsWith("Scan"))
    .reduce(
      (sum, node) =>
        sum +
        ((node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0)) * (node["Actual Loops"] ?? 1),
      0,
    );
}
