// What the command line and the MCP server find here: bun run cli … --root examples/tasks
import {
  type AppPlugin,
  type Manage,
  type OperationsByName,
  selectManageOperations,
} from "lenso-jobs-plugin/host-fixtures";
import { reportPlugins, taskOperations } from "./src/plugin.ts";

const { database, reports, tasks } = reportPlugins;

export const plugins: readonly AppPlugin[] = [database, reports, tasks, taskOperations.plugin];
export const operations: Readonly<Record<string, OperationsByName>> = { tasks: taskOperations.operations };
export const manage: Manage = taskOperations.manage;
export const mcpOperations: OperationsByName = selectManageOperations(manage, [
  "submit",
  "query",
  "cancel",
  "retry",
]);
