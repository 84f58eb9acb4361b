import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AppPlugin } from "../../capability/index.ts";
import type { ManageAdapterOptions } from "../app/create-manage-adapter.ts";
import { defineManage, type Manage, type OperationsByName } from "../app/define-manage.ts";
import { checkOperation, isAppPlugin } from "../app/define-operation.ts";
import { HostError } from "../host-error.ts";
import { CommandFailure } from "./command-failure.ts";
import { describeError } from "./describe-error.ts";

/** What `tasks.config.ts` of an application's folder exports. */
export interface AppRoot {
  readonly plugins: readonly AppPlugin[];
  /** By group and name: what the command line may call. */
  readonly operations: Readonly<Record<string, OperationsByName>>;
  readonly manage?: Manage;
  /** What `selectManageOperations` picked of `manage`: the tools of an MCP server. */
  readonly mcpOperations?: OperationsByName;
  /** Agrees to operations that need an approval. Without it they are refused. */
  readonly approve?: NonNullable<ManageAdapterOptions["approve"]>;
}

/**
 * Imports an application's `tasks.config.ts`. Starts nothing.
 *
 * @throws CommandFailure `root-not-found`, `config-failed` or `config-invalid`, all with exit code 3
 */
export async function loadAppRoot(
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<AppRoot> {
  const file = join(resolve(folder), "tasks.config.ts");
  if (!(await isFile(file)))
    throw new CommandFailure(3, "root-not-found", "--root: expected a folder with a file tasks.config.ts");
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const what = describeError(error, environment);
    throw new CommandFailure(3, "config-failed", `tasks.config.ts cannot be imported: ${what}`);
  }
  try {
    return checkAppRoot(exported);
  } catch (error) {
    if (error instanceof HostError) throw invalid(error.problems.map(({ message }) => message).join("; "));
    throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function checkAppRoot({
  plugins,
  operations,
  manage,
  mcpOperations,
  approve,
}: Record<string, unknown>): AppRoot {
  if (!Array.isArray(plugins) || !plugins.every(isAppPlugin))
    throw invalid("plugins: expected a list of plugins");
  if (!isRecord(operations)) throw invalid("operations: expected groups of operations by name");
  for (const [group, byName] of Object.entries(operations)) {
    if (!isRecord(byName)) throw invalid(`operations.${group}: expected operations by name`);
    for (const [name, operation] of Object.entries(byName))
      checkOperation(operation, `operations.${group}.${name}`);
  }
  if (manage !== undefined) {
    if (!isRecord(manage) || !isAppPlugin(manage["plugin"]) || !isRecord(manage["operations"]))
      throw invalid("manage: expected what defineManage returns");
    defineManage(manage as unknown as Manage);
  }
  if (mcpOperations !== undefined) {
    const declared = (manage as Manage | undefined)?.operations ?? {};
    const strange = isRecord(mcpOperations)
      ? Object.keys(mcpOperations).filter((name) => mcpOperations[name] !== declared[name])
      : [];
    if (!isRecord(mcpOperations) || strange.length > 0)
      throw invalid(
        ["mcpOperations: expected what selectManageOperations picked of manage", ...strange].join(", not "),
      );
  }
  if (approve !== undefined && typeof approve !== "function") throw invalid("approve: expected a function");
  return { plugins, operations, manage, mcpOperations, approve } as unknown as AppRoot;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(message: string): CommandFailure {
  return new CommandFailure(3, "config-invalid", `tasks.config.ts: ${message}`);
}
