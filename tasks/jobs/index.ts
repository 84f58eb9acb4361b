export { createJobsTaskProvider } from "./create-jobs-task-provider.ts";
export {
  type MigrateJobsTaskQueueOptions,
  migrateJobsTaskQueue,
} from "./migration/migrate-jobs-task-queue.ts";
export type { JobsTaskDatabase, JobsTaskProviderOptions } from "./options.ts";
export type { BorrowedPool, BunPool, PgPool, PgPoolClient } from "./records/borrowed-pool.ts";
