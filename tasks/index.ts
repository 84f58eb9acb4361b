export type { AppPlugin, JsonValue, SetupContext } from "../capability/index.ts";
export { createTaskPlugin, type TaskPluginOptions, type TaskPluginWorker } from "./create-task-plugin.ts";
export { createTaskQueue } from "./create-task-queue.ts";
export { defineTask, type Task, type TaskContext, type TaskDefinition } from "./define-task.ts";
export { createJobsWorker, type JobsWorkerOptions } from "./jobs-worker/create-jobs-worker.ts";
export { defineJobKind, type JobKind } from "./jobs-worker/define-job-kind.ts";
export { enqueueKind, type KindRequest } from "./jobs-worker/enqueue-kind.ts";
export { handleKind, type JobContext, type JobHandler } from "./jobs-worker/execute-job.ts";
export { JobFailure } from "./jobs-worker/job-failure.ts";
export { INPUT_LIMIT_BYTES, RESULT_LIMIT_BYTES } from "./json-value.ts";
export type { TaskLogger } from "./logger.ts";
export type {
  CancelOutcome,
  ClaimedTask,
  ErrorCode,
  Execute,
  ExecutionResult,
  JobPage,
  JobState,
  JobStatus,
  JobSummary,
  ProviderEnqueue,
  ProviderWorkerOptions,
  RetryPolicy,
  StopOptions,
  TaskProvider,
  TaskWorker,
} from "./provider.ts";
export type { KeyHolder, QueueIdentity } from "./provider-answers.ts";
export type {
  BatchOptions,
  CloseOptions,
  EnqueueOptions,
  ListQuery,
  TaskQueue,
  TaskQueueOptions,
  WorkerOptions,
} from "./task-queue.ts";
export {
  type TaskErrorCode,
  type TaskErrorDiagnostic,
  type TaskErrorPhase,
  TaskQueueError,
  taskErrorDiagnostic,
} from "./task-queue-error.ts";
