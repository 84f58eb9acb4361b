import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JobSchema, JobSchemaDocuments } from "../configuration/job-schema.ts";

/** A lost attempt is followed by a fresh one on the sealed input. */
export interface JobRestartRecovery {
  readonly mode: "restart-from-input";
}

/** A lost attempt is followed by one that resumes at the newest compatible checkpoint; without one, from the input. */
export interface JobCheckpointRecovery<MetadataSchema extends JobSchema> {
  readonly mode: "checkpoint";
  /** What the checkpoint's files are, 1..256 UTF-16 code units. Checkpoints of another format are passed over. */
  readonly format: string;
  /** Integer from 1. Checkpoints of another version are passed over. */
  readonly formatVersion: number;
  /** Validates a checkpoint's metadata when it is published, and again before an attempt resumes there: what it refuses then is passed over. */
  readonly metadataSchema: MetadataSchema;
  /** Whether this version of the provider can resume there. A checkpoint for which it throws is passed over. */
  readonly compatible: (metadata: StandardSchemaV1.InferOutput<MetadataSchema>) => boolean;
}

/** After a lost attempt nothing runs again blindly: the job asks for attention, because only the outside world knows what happened. */
export interface JobReconcileRecovery {
  readonly mode: "reconcile-external-effect";
}

/** How a job goes on after an attempt was lost. */
export type JobRecovery<MetadataSchema extends JobSchema = JobSchema> =
  | JobRestartRecovery
  | JobCheckpointRecovery<MetadataSchema>
  | JobReconcileRecovery;

/** The same as data. */
export type JobRecoveryDescriptor =
  | JobRestartRecovery
  | {
      readonly mode: "checkpoint";
      readonly format: string;
      readonly formatVersion: number;
      readonly metadataSchema: JobSchemaDocuments;
    }
  | JobReconcileRecovery;
