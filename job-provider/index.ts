export type { JsonObject, JsonValue } from "../capability/index.ts";
export { canonicalJson } from "./canonical/canonical-json.ts";
export { digestJson, digestOf, isDigest } from "./canonical/digest.ts";
export type { JsonLimits } from "./canonical/own-json.ts";
export {
  admitConfiguration,
  type JobConfigurationAdmission,
  type JobConfigurationRequest,
} from "./configuration/admit-configuration.ts";
export {
  defineConfiguration,
  type JobConfigurationDefinition,
  type JobConfigurationDiagnostic,
  type JobConfigurationFields,
  type JobConfigurationManifest,
  type PartialDeep,
} from "./configuration/define-configuration.ts";
export {
  type JobSchema,
  type JobSchemaDocuments,
  type JsonSchemaConverter,
  withJsonSchema,
} from "./configuration/job-schema.ts";
export type { JobAcceptedEvent, JobLifecycleEvent, JobProjectionEvent } from "./lifecycle/job-events.ts";
export {
  canMoveJob,
  isTerminalJobState,
  type JobLifecycleState,
  jobLifecycle,
} from "./lifecycle/job-lifecycle.ts";
export type { JobEffectiveConfiguration, JobReference, JobSnapshot } from "./lifecycle/job-snapshot.ts";
export { reduceJobSnapshot } from "./lifecycle/reduce-job-snapshot.ts";
export type { JobArtifactStore, StoreCall } from "./ports/job-artifact-store.ts";
export { type JobContent, JobContentMismatch, verifyContent } from "./ports/job-content.ts";
export type { JobRevisionFile, JobRevisionSeal, JobRevisionStore } from "./ports/job-revision-store.ts";
export type {
  JobAttemptServices,
  JobCheckpointPublication,
  JobCheckpointService,
  JobLogEntry,
  JobProgressUpdate,
  JobProviderAttemptServices,
  JobProviderExecuteInput,
  JobProviderResumeContext,
} from "./provider/attempt-services.ts";
export {
  defineJobCommand,
  type JobCommandCall,
  type JobCommandDefinition,
  type JobCommandDescriptor,
  type JobCommandReplayPolicy,
} from "./provider/define-job-command.ts";
export {
  type AnyJobCommand,
  type AnyJobQuery,
  defineJobProvider,
  type JobProviderDefinition,
  type JobProviderFactory,
  type JobProviderRegistration,
} from "./provider/define-job-provider.ts";
export {
  defineJobQuery,
  type JobExtensionCall,
  type JobExtensionDescriptor,
  type JobQueryDefinition,
} from "./provider/define-job-query.ts";
export type {
  JobArtifactDeclaration,
  JobArtifactPublication,
  JobPublishedArtifact,
  JobReadableArtifact,
} from "./provider/job-artifact.ts";
export type { JobProviderDescriptor } from "./provider/job-provider-descriptor.ts";
export type {
  JobCheckpointRecovery,
  JobReconcileRecovery,
  JobRecovery,
  JobRecoveryDescriptor,
  JobRestartRecovery,
} from "./provider/job-recovery.ts";
export type { JobFact, JobRequirement } from "./provider/job-requirement.ts";
export type { JobWorkspace, JobWorkspaceFile } from "./provider/job-workspace.ts";
export { type JobCapabilityMatch, matchHostCapabilities } from "./provider/match-host-capabilities.ts";
export type {
  JobConfigurationInput,
  JobInput,
  JobProviderIdentity,
  JobRevision,
  JobSubmitInput,
} from "./submission/job-submit-input.ts";
export {
  type JobAccepted,
  type JobOutcomeUnknown,
  type JobRefusalCode,
  type JobRefused,
  type JobSubmitOutcome,
  type JobValidationIssue,
  jobRefusalCodes,
} from "./submission/job-submit-outcome.ts";
export { parseJobSubmitInput } from "./submission/parse-job-submit-input.ts";
export { requestDigest } from "./submission/request-digest.ts";
export { type JobTreeEntry, treeDigest } from "./tree/tree-digest.ts";
