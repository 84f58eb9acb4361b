export { JobAttemptOver } from "./attempt/attempt-over.ts";
export type { JobWorker, JobWorkerOptions } from "./attempt/start-job-worker.ts";
export type { JobCommandRequest } from "./commands/command-job.ts";
export {
  type JobCallOutcome,
  type JobCallRefusalCode,
  type JobCallRefused,
  jobCallRefusalCodes,
} from "./commands/job-call-outcome.ts";
export type { JobResolution, JobResolutionOutcome } from "./commands/resolve-job-attention.ts";
export { createJobHost } from "./create-job-host.ts";
export type { JobHostDatabase, JobHostOptions } from "./host-options.ts";
export type {
  JobCancelOutcome,
  JobHost,
  JobListRequest,
  JobLogPage,
  JobLogRequest,
  JobPage,
  JobQueryRequest,
} from "./job-host.ts";
export { JobHostError, type JobHostErrorCode } from "./job-host-error.ts";
export { JobProviderFailure, type JobProviderFailureFacts } from "./job-provider-failure.ts";
export { type MigrateJobHostOptions, migrateJobHost } from "./migration/migrate-job-host.ts";
export type { JobInspection } from "./records/inspect-job.ts";
export type { JobListEntry } from "./records/list-jobs.ts";
export type { JobLogLine } from "./records/list-logs.ts";
export type { JobProgress } from "./records/read-progress.ts";
export type { JobResult } from "./records/read-result.ts";
export type { JobReasonCode } from "./records/record-types.ts";
export type { JobWatchOptions } from "./watch-job.ts";
