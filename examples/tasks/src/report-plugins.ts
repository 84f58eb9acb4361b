import { SQL } from "bun";
import { type AppPlugin, createTaskPlugin, type TaskLogger, type TaskQueue } from "lenso-jobs-plugin/tasks";
import { createPostgresTaskProvider } from "lenso-jobs-plugin/tasks/postgres";
import { createReportService, type ReportService, type ReportServiceOptions } from "./report-service.ts";
import { createReportTask, type ReportTask } from "./report-task.ts";
import { settings } from "./settings.ts";

/** The parts that producers and workers share. */
export interface ReportPlugins {
  readonly database: AppPlugin<SQL>;
  readonly reports: AppPlugin<ReportService>;
  readonly tasks: AppPlugin<TaskQueue<ReportTask>>;
  readonly task: ReportTask;
}

export interface ReportPluginsOptions extends Omit<ReportServiceOptions, "sql"> {
  /** Default: quiet. */
  readonly logger?: TaskLogger;
}

/**
 * The database, the reports on it and the queue of tasks that write them. Nothing connects before the application starts, and nothing
 * works on jobs: `worker.ts` does.
 */
export function createReportPlugins({ logger, ...options }: ReportPluginsOptions = {}): ReportPlugins {
  const database: AppPlugin<SQL> = {
    id: "reports/database",
    requires: [],
    setup(context) {
      const sql = new SQL(settings.databaseUrl(), { max: 4, connection: { statement_timeout: 30_000 } });
      context.onCleanup(() => sql.close());
      return sql;
    },
  };
  // A task is made before the application starts, and its handler runs after: it asks for the service then.
  let running: ReportService | undefined;
  const reports: AppPlugin<ReportService> = {
    id: "reports/service",
    requires: [database],
    setup(context) {
      running = createReportService({ ...options, sql: context.get(database) });
      return running;
    },
  };
  const task = createReportTask({
    write(job, signal) {
      if (running === undefined) throw new Error("the application has not started");
      return running.write(job, signal);
    },
  });
  const tasks = createTaskPlugin({
    id: "reports/tasks",
    requires: [reports],
    tasks: [task],
    ...(logger === undefined ? {} : { logger }),
    connect: () =>
      createPostgresTaskProvider({
        queueName: settings.queueName(),
        connectionString: settings.databaseUrl(),
        // A killed worker's report goes on elsewhere after some 15 seconds.
        heartbeatSeconds: 10,
        superviseIntervalSeconds: 5,
        onError: (err) => logger?.warn({ err }, "trouble with the queue"),
      }),
  });
  return { database, reports, tasks, task };
}
