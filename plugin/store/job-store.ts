import type { JobStatus } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import type { JobId } from "../job-id.ts";

/**
 * Every verb that the operations need of a place where jobs live. PostgreSQL implements it for production; the in-memory
 * model implements it as the reference. Times are RFC 3339 UTC texts with microseconds, by the store's own clock.
 *
 * A verb rejects with a RuntimeFailureError when there is no answer (lost database, full, ended call) and never decides
 * by the process's clock. Names have been checked by the time that they arrive here.
 */
export interface JobStore {
  /** Stores a job once for each (producer, key); decided atomically under any concurrency. */
  enqueue(job: NewJob, call: Call): Promise<EnqueueVerdict>;
  /** Leases the next job of a queue to the owner, or answers undefined after a look at the whole queue. */
  claim(
    request: { readonly queue: string; readonly owner: string },
    call: Call,
  ): Promise<LeasedJob | undefined>;
  /** Prolongs a valid lease; undefined when the proof names no valid one. */
  renew(lease: LeaseProof, call: Call): Promise<string | undefined>;
  /** Settles a valid lease as succeeded, or repeats the answer of the very call that did; false otherwise. */
  complete(lease: LeaseProof, call: Call): Promise<boolean>;
  /** Settles a valid lease as failed or as queued again, or repeats the answer of the very call that did; undefined otherwise. */
  fail(lease: LeaseProof, failure: Failure, call: Call): Promise<FailVerdict | undefined>;
  /** One job in one snapshot. */
  inspect(id: JobId, call: Call): Promise<JobEvidence | undefined>;
}

/** Largest payload, in bytes of compact JSON. */
export const maxPayloadBytes = 262_144;

/** A job as an authorised producer asked for it, checked and in canonical form. */
export interface NewJob {
  readonly producer: string;
  readonly queue: string;
  readonly kind: string;
  readonly key: string;
  /** Canonical JSON, secret. */
  readonly payload: string;
  /** SHA-256 of the intent, 64 hex digits: equal exactly when two requests mean the same job. */
  readonly intent: string;
  /** The instant asked for, in UTC to the microsecond. */
  readonly requestedAt: string;
  readonly maxAttempts: number;
}

export type EnqueueVerdict =
  | { readonly kind: "created" | "existing"; readonly id: JobId }
  | { readonly kind: "conflict" };

/** A claimed job and its lease. */
export interface LeasedJob {
  readonly id: JobId;
  readonly kind: string;
  /** JSON text, secret. */
  readonly payload: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The token itself, secret; the store keeps only its hash. */
  readonly token: string;
  readonly expiresAt: string;
}

/** What a caller shows to act on a lease: the job, its token's SHA-256 and who it is. */
export interface LeaseProof {
  readonly id: JobId;
  readonly tokenHash: string;
  readonly owner: string;
}

export interface Failure {
  readonly code: string;
  readonly retryable: boolean;
}

export type FailVerdict =
  | { readonly status: "queued"; readonly nextRun: string }
  | { readonly status: "failed"; readonly nextRun: null };

/** What `inspect` shows, with the queue by name. */
export interface JobEvidence {
  readonly queue: string;
  readonly kind: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly availableAt: string;
  readonly leaseExpiresAt: string | null;
  readonly lastFailureCode: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}
