export { createTestClock, type InstantSource, type TestClock } from "./clock.ts";
export type { BindingSpec, Composition, InstanceSpec } from "./composition.ts";
export { type ReadComposition, type ReadCompositionOptions, readComposition } from "./composition-file.ts";
export {
  type DatabaseClock,
  databaseClock,
  databaseClockExpression,
  installDatabaseClock,
} from "./database-clock.ts";
export { type Host, type HostOptions, startHost } from "./host.ts";
export { HostError, type HostErrorCode, type HostProblem } from "./host-error.ts";
export type { MemoryJobStore } from "./memory-job-store.ts";
export { createMemoryJobs, type MemoryJobs, type MemoryJobsOptions } from "./memory-jobs.ts";
export { secretsFromEnvironment, secretsFromMap } from "./secrets.ts";
export { type PostgresServer, type StartPostgresOptions, startPostgres } from "./start-postgres.ts";
export { createTestJobsPlugin, type TestJobsPlugin } from "./test-jobs-plugin.ts";
