import type { JobConfigurationManifest } from "../configuration/define-configuration.ts";
import type { JobSchemaDocuments } from "../configuration/job-schema.ts";
import type { JobCommandDescriptor } from "./define-job-command.ts";
import type { JobExtensionDescriptor } from "./define-job-query.ts";
import type { JobArtifactDeclaration } from "./job-artifact.ts";
import type { JobRecoveryDescriptor } from "./job-recovery.ts";
import type { JobRequirement } from "./job-requirement.ts";

/** Most requirements, most artifacts, and most queries and commands together. */
export const DECLARATION_LIMIT = 128;

/** Everything about a provider that can be said as data: what a client reads before it submits. JSON, deeply frozen. */
export interface JobProviderDescriptor<Id extends string = string> {
  readonly id: Id;
  /** What kind of work it does, so that clients can choose between providers. */
  readonly kind: string;
  readonly kindVersion: number;
  readonly version: string;
  readonly configuration: JobConfigurationManifest;
  readonly resultSchema: JobSchemaDocuments;
  /** Attempts that a job gets, the first included. */
  readonly maxAttempts: number;
  readonly requirements: readonly JobRequirement[];
  readonly artifacts: readonly JobArtifactDeclaration[];
  readonly recovery: JobRecoveryDescriptor;
  readonly queries: readonly JobExtensionDescriptor[];
  readonly commands: readonly JobCommandDescriptor[];
  /** Digest of all the other fields. A submission names the one that its caller saw. */
  readonly manifestDigest: string;
}
