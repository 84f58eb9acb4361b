export type { AppPlugin, SetupContext } from "../capability/index.ts";
export {
  createManageAdapter,
  type ListedOperation,
  type ManageAdapter,
  type ManageAdapterOptions,
  type ManageErrorCode,
  type OperationCall,
  type OperationFailure,
  type OperationOutcome,
} from "./app/create-manage-adapter.ts";
export { defineManage, type Manage, type OperationsByName } from "./app/define-manage.ts";
export {
  defineOperation,
  type Operation,
  type OperationCancellation,
  type OperationContext,
  type OperationDefinition,
  type OperationEffect,
  type OperationRetry,
} from "./app/define-operation.ts";
export type { OperationDescription } from "./app/describe-operation.ts";
export { OperationError } from "./app/operation-error.ts";
export { selectManageOperations } from "./app/select-manage-operations.ts";
export { type RunningApp, type StartAppOptions, startApp } from "./app/start-app.ts";
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
