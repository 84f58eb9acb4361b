import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JobSchema } from "../configuration/job-schema.ts";
import type { JobReference } from "../lifecycle/job-snapshot.ts";
import type { JobInput, JobRevision } from "../submission/job-submit-input.ts";
import type { JobArtifactPublication, JobPublishedArtifact } from "./job-artifact.ts";
import type { JobWorkspace } from "./job-workspace.ts";

/** How far an attempt is. An observation: it moves no state, and only the latest is kept. */
export interface JobProgressUpdate {
  /** 1..128 UTF-16 code units. */
  readonly phase: string;
  /** Finite, from 0, and no more than `total`; both in whatever unit the phase has. */
  readonly completed?: number;
  readonly total?: number;
  /** At most 1024 UTF-16 code units. */
  readonly message?: string;
}

/** A line of an attempt's log. An observation too; the host keeps a bounded number per job. */
export interface JobLogEntry {
  readonly level: "debug" | "info" | "warn" | "error";
  /** At most 4096 UTF-16 code units. No secrets: whoever may read the job may read its logs. */
  readonly message: string;
}

/** Files of the workspace from which a later attempt can go on. */
export interface JobCheckpointPublication<Metadata = unknown> {
  /** Workspace paths of the files, 1..10 000, none twice. */
  readonly paths: readonly string[];
  /** What the provider needs to know to resume there; validated by its `metadataSchema`. */
  readonly metadata: Metadata;
  /** The checkpoint that this one follows; it must be the newest. Left out: the job has none yet. */
  readonly parent?: JobRevision;
}

/** Where an attempt goes on. */
export interface JobProviderResumeContext<Metadata = unknown> {
  /** The checkpoint: its files stand in the workspace, and it is the `parent` of the next one. */
  readonly revision: JobRevision;
  readonly metadata: Metadata;
}

/** What an attempt works on. A provider without checkpoints never resumes. */
export type JobProviderExecuteInput<Configuration = unknown, MetadataSchema extends JobSchema = never> = {
  readonly input: JobInput;
  /** The effective configuration: the configuration schema's output. */
  readonly configuration: Configuration;
} & ([MetadataSchema] extends [never]
  ? unknown
  : { readonly resume?: JobProviderResumeContext<StandardSchemaV1.InferOutput<MetadataSchema>> });

/**
 * What an attempt may do beside computing. All of it is fenced: once the attempt lost its lease, or its local deadline has passed, its job
 * was cancelled or its worker ended without it, every call is refused and changes nothing.
 */
export type JobProviderAttemptServices<
  Role extends string = string,
  MetadataSchema extends JobSchema = never,
> = JobAttemptServices<Role> &
  ([MetadataSchema] extends [never]
    ? unknown
    : JobCheckpointService<StandardSchemaV1.InferInput<MetadataSchema>>);

/** The services of every attempt. */
export interface JobAttemptServices<Role extends string = string> {
  readonly job: JobReference;
  readonly attemptId: string;
  /** Aborts when the attempt should end: its lease is lost, the job is cancelled, or the worker stops. */
  readonly signal: AbortSignal;
  readonly workspace: JobWorkspace;
  /** Bounded in size; at a high rate updates are dropped, never the last one. @throws TypeError for an update that breaks a bound */
  readonly reportProgress: (update: JobProgressUpdate) => Promise<void>;
  /** Bounded in size and rate, and capped per job. @throws TypeError for an entry that breaks a bound */
  readonly writeLog: (entry: JobLogEntry) => Promise<void>;
  /**
   * Publishes a file as an artifact, checked against the declaration.
   * @throws TypeError for a role or media type that is not declared, more than the maximum, or a path that is no file of the workspace
   */
  readonly publishArtifact: <R extends Role>(
    publication: JobArtifactPublication<R>,
  ) => Promise<JobPublishedArtifact<R>>;
}

/** The further service of a provider whose recovery is `checkpoint`. */
export interface JobCheckpointService<Metadata = unknown> {
  /**
   * Seals files of the workspace as a revision to resume from.
   * @throws TypeError for metadata that its schema refuses, a wrong parent, or a path that is no file of the workspace
   */
  readonly publishCheckpoint: (publication: JobCheckpointPublication<Metadata>) => Promise<JobRevision>;
}
