import {
  type AppPlugin,
  defineManage,
  defineOperation,
  type Manage,
  OperationError,
  type OperationsByName,
} from "lenso-jobs-plugin/host-fixtures";
import { TaskQueueError } from "lenso-jobs-plugin/tasks";
import * as v from "valibot";
import { provenIdentity, SessionRefused, type TaskAuthModule } from "./identity.ts";
import { reportId } from "./report-input.ts";
import { createReportOperations, type ReportOperations, ReportUnavailable } from "./report-operations.ts";
import { createReportOwnership } from "./report-ownership.ts";
import type { ReportPlugins } from "./report-plugins.ts";
import { reportInput } from "./report-service.ts";

export interface TasksOperationsOptions {
  readonly plugins: ReportPlugins;
  /** Finds the module that proves sessions; asked when the application starts. */
  readonly authSource: () => Promise<TaskAuthModule>;
  /** The session of whoever starts the application. Secret. */
  readonly session: () => string;
}

export interface TasksOperations {
  readonly plugin: AppPlugin<ReportOperations>;
  /** All five, for the command line. */
  readonly operations: OperationsByName;
  /** Without `report`: business results are not for tools that manage jobs. */
  readonly manage: Manage;
}

/** What can be done with reports, on behalf of the one identity that the session proves when the application starts. */
export function createTasksOperations({
  plugins,
  authSource,
  session,
}: TasksOperationsOptions): TasksOperations {
  const { database, reports, tasks, task } = plugins;
  const plugin: AppPlugin<ReportOperations> = {
    id: "reports/operations",
    requires: [database, reports, tasks],
    async setup(context) {
      const { source, cleanup } = await (await authSource()).connectTaskAuth();
      if (cleanup !== undefined) context.onCleanup(cleanup);
      const operations = createReportOperations({
        me: await provenIdentity(source, session()),
        ownership: createReportOwnership(context.get(database)),
        queue: context.get(tasks),
        reports: context.get(reports),
        task,
      });
      return {
        submit: (input) => tellingCaller(operations.submit(input)),
        query: (input) => tellingCaller(operations.query(input)),
        cancel: (input) => tellingCaller(operations.cancel(input)),
        retry: (input) => tellingCaller(operations.retry(input)),
        report: (input) => tellingCaller(operations.report(input)),
      };
    },
  };
  const jobRef = v.strictObject({ jobId: v.pipe(v.string(), v.uuid("expected a job's id")) });
  const reading = {
    plugin,
    effect: "read",
    destructive: false,
    retry: "safe",
    cancellation: "ignored",
  } as const;
  const writing = { ...reading, effect: "write" } as const;

  const submit = defineOperation({
    ...writing,
    method: "submit",
    input: reportInput,
    description:
      "Has a report written. The same input again answers the same job; other rows overwrite the report.",
    destructive: true,
  });
  const query = defineOperation({
    ...reading,
    method: "query",
    input: jobRef,
    description:
      "How far a job is: state, attempt, maxAttempts, cancelRequested; null when there is none of yours.",
  });
  const cancel = defineOperation({
    ...writing,
    method: "cancel",
    input: jobRef,
    description: "Cancels a pending job, or asks a running one to stop.",
    destructive: true,
  });
  const retry = defineOperation({
    ...writing,
    method: "retry",
    input: jobRef,
    description:
      "Gives a job that has failed for good one more attempt. Query it and look at the report first.",
    retry: "look-first",
  });
  const report = defineOperation({
    ...reading,
    method: "report",
    input: v.strictObject({ reportId }),
    description: "The report as far as it has been written, or null.",
  });
  const managed = { submit, query, cancel, retry };
  return {
    plugin,
    operations: { ...managed, report },
    manage: defineManage({ plugin, operations: managed }),
  };
}

/** Says to the caller what he can act on; everything else stays inside. */
async function tellingCaller<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ReportUnavailable || error instanceof TaskQueueError)
      throw new OperationError(error.code, error.message);
    if (error instanceof SessionRefused) throw new OperationError("session-refused", error.message);
    throw error;
  }
}
