export {
  createFileArtifactStore,
  type FileArtifactStore,
  type FileArtifactStoreOptions,
} from "./create-file-artifact-store.ts";
export {
  createFileRevisionStore,
  type FileRevisionStore,
  type FileRevisionStoreOptions,
} from "./create-file-revision-store.ts";
export { JobFileError, type JobFileErrorCode } from "./job-file-error.ts";
export {
  type AttemptIdentity,
  type AttemptWorkspace,
  type OpenAttemptWorkspaceOptions,
  openAttemptWorkspace,
} from "./open-attempt-workspace.ts";
export { type SealDirectoryOptions, sealDirectory } from "./seal-directory.ts";
export { type SweepAttemptWorkspacesOptions, sweepAttemptWorkspaces } from "./sweep-attempt-workspaces.ts";
export type { SweepOptions } from "./sweep-incoming.ts";
