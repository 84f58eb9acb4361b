import { createTasksOperations, type TasksOperations } from "./create-tasks-operations.ts";
import { createReportPlugins, type ReportPlugins } from "./report-plugins.ts";
import { settings } from "./settings.ts";

/** The application without a worker. Nothing connects before it is started. */
export const reportPlugins: ReportPlugins = createReportPlugins();

/** What can be done in it: with the session in TASK_SESSION, proven by the module in TASK_AUTH_SOURCE_MODULE. */
export const taskOperations: TasksOperations = createTasksOperations({
  plugins: reportPlugins,
  authSource: settings.authSource,
  session: settings.session,
});
