export { createPostgresTaskProvider } from "./create-postgres-task-provider.ts";
export { migratePostgresTaskQueue } from "./migrate-postgres-task-queue.ts";
export type { MigratePostgresTaskQueueOptions, PostgresTaskProviderOptions } from "./options.ts";
