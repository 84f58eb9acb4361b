import * as v from "valibot";
import type { CapabilityDefinition, ClientOf, OperationDefinition, ProviderOf } from "./definition.ts";
import type { JsonObject } from "./json.ts";
import { hideSecrets, withoutFields } from "./redaction.ts";

/** A job to store. All fields are required. */
export interface EnqueueRequest {
  /** A configured queue of the Instance, 1..128 of `A-Z a-z 0-9 . _ - : /`. */
  readonly queue: string;
  /** What the job is to its business module, 1..256 of the same characters. */
  readonly kind: string;
  /** At most 262 144 bytes of compact JSON, depth at most 64. Secret: never printed or logged. */
  readonly payload: JsonObject;
  /** Names the caller's intent, 1..256 of the same characters. One key of one caller is one job for ever. */
  readonly idempotency_key: string;
  /** RFC 3339, years 0001..9999, cut to microseconds. Part of the intent: use a stable business time, not a fresh "now". */
  readonly available_at: string;
  /** 1..100, the first attempt included. A claim whose answer is lost on the way costs one. */
  readonly max_attempts: number;
}

/** The job that holds the key: a new one, or the one that the same intent made before. */
export interface EnqueueResponse {
  readonly job_id: string;
  /** False when the job existed already. */
  readonly created: boolean;
}

/** A request for one job of one queue. */
export interface ClaimRequest {
  readonly queue: string;
}

/** A job under a lease. Whoever holds the token may renew, complete or fail it until the lease expires. */
export interface ClaimResponse {
  readonly job_id: string;
  readonly queue: string;
  readonly kind: string;
  /** Secret: never printed or logged by this package. */
  readonly payload: JsonObject;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly max_attempts: number;
  /** Fencing token of this claim, opaque. Secret. */
  readonly lease_token: string;
  /** RFC 3339 in UTC, by the database's clock. */
  readonly lease_expires_at: string;
}

/** A job and the token of its current lease. */
export interface LeaseRequest {
  readonly job_id: string;
  /** Secret. */
  readonly lease_token: string;
}

/** The lease, prolonged. */
export interface RenewResponse {
  readonly lease_expires_at: string;
}

/** The job, done. */
export interface CompleteResponse {
  readonly completed: true;
}

/** A failed attempt. */
export interface FailRequest extends LeaseRequest {
  /** Stable code of the failure, 1..128 of `A-Z a-z 0-9 . _ - : /`. */
  readonly failure_code: string;
  /** Whether another attempt may help. */
  readonly retryable: boolean;
}

/** What became of the job: waiting for its next run, or failed for good. */
export interface FailResponse {
  readonly status: "queued" | "failed";
  /** The next run, or null when the job has failed for good. */
  readonly available_at: string | null;
}

/** The job to look at. */
export interface InspectRequest {
  readonly job_id: string;
}

/** The durable state of a job. */
export type JobStatus = "queued" | "running" | "succeeded" | "failed";

/** What the database knows of a job, in one snapshot. No payload, no token. */
export interface InspectResponse {
  readonly job_id: string;
  readonly queue: string;
  readonly kind: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly max_attempts: number;
  /** The next run while queued, otherwise the run time under which the job was last claimed. */
  readonly available_at: string;
  readonly lease_expires_at?: string | null;
  /** Stays through later attempts and after success, until another code replaces it. */
  readonly last_failure_code?: string | null;
  readonly created_at: string;
  /** The last change of state or renewal. */
  readonly updated_at: string;
}

const count = v.pipe(v.number(), v.integer());
const jsonObject = v.custom<JsonObject>(
  (input) => typeof input === "object" && input !== null && !Array.isArray(input),
  "Expected a JSON object",
);
const described = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.pipe(schema, v.description(description));
const lease = {
  job_id: described(v.string(), "Public id of the job."),
  lease_token: described(v.string(), "Secret fencing token of the claim."),
};

const enqueue: OperationDefinition<
  EnqueueRequest,
  EnqueueResponse,
  "unauthorized" | "invalid_job" | "idempotency_conflict"
> = {
  request: v.strictObject({
    queue: described(v.string(), "Configured queue, 1..128 of A-Z a-z 0-9 . _ - : /"),
    kind: described(v.string(), "1..256 of A-Z a-z 0-9 . _ - : /"),
    payload: described(jsonObject, "At most 262144 bytes of compact JSON, depth at most 64. Secret."),
    idempotency_key: described(v.string(), "1..256 of A-Z a-z 0-9 . _ - : /, one job per caller and key"),
    available_at: described(v.string(), "RFC 3339, years 0001..9999, cut to microseconds"),
    max_attempts: described(v.number(), "Integer 1..100, the first attempt included"),
  }),
  response: v.strictObject({ job_id: v.string(), created: v.boolean() }),
  errors: ["unauthorized", "invalid_job", "idempotency_conflict"],
  hideRequest: (request) => hideSecrets(request, printedEnqueue),
};
const printedEnqueue = withoutFields<EnqueueRequest>("payload");

const claim: OperationDefinition<
  ClaimRequest,
  ClaimResponse,
  "unauthorized" | "invalid_queue" | "no_job_available"
> = {
  request: v.strictObject({ queue: described(v.string(), "Configured queue") }),
  response: v.strictObject({
    ...lease,
    queue: v.string(),
    kind: v.string(),
    payload: described(jsonObject, "Secret."),
    attempt: v.pipe(count, v.minValue(1)),
    max_attempts: v.pipe(count, v.minValue(1)),
    lease_expires_at: v.string(),
  }),
  errors: ["unauthorized", "invalid_queue", "no_job_available"],
  hideResponse: (response) => hideSecrets(response, printedClaim),
};
const printedClaim = withoutFields<ClaimResponse>("payload", "lease_token");
const printedLease = withoutFields<LeaseRequest>("lease_token");

const renew: OperationDefinition<LeaseRequest, RenewResponse, "unauthorized" | "invalid_lease"> = {
  request: v.strictObject(lease),
  response: v.strictObject({ lease_expires_at: v.string() }),
  errors: ["unauthorized", "invalid_lease"],
  hideRequest: (request) => hideSecrets(request, printedLease),
};

const complete: OperationDefinition<LeaseRequest, CompleteResponse, "unauthorized" | "invalid_lease"> = {
  request: v.strictObject(lease),
  response: v.strictObject({ completed: v.literal(true) }),
  errors: ["unauthorized", "invalid_lease"],
  hideRequest: (request) => hideSecrets(request, printedLease),
};

const fail: OperationDefinition<
  FailRequest,
  FailResponse,
  "unauthorized" | "invalid_lease" | "invalid_failure"
> = {
  request: v.strictObject({
    ...lease,
    failure_code: described(v.string(), "1..128 of A-Z a-z 0-9 . _ - : /"),
    retryable: v.boolean(),
  }),
  response: v.strictObject({
    status: v.picklist(["queued", "failed"]),
    available_at: v.nullable(v.string()),
  }),
  errors: ["unauthorized", "invalid_lease", "invalid_failure"],
  hideRequest: (request) => hideSecrets(request, printedLease),
};

const inspect: OperationDefinition<InspectRequest, InspectResponse, "unauthorized" | "job_not_found"> = {
  request: v.strictObject({ job_id: lease.job_id }),
  response: v.strictObject({
    job_id: v.string(),
    queue: v.string(),
    kind: v.string(),
    status: v.picklist(["queued", "running", "succeeded", "failed"]),
    attempts: v.pipe(count, v.minValue(0)),
    max_attempts: v.pipe(count, v.minValue(1)),
    available_at: v.string(),
    lease_expires_at: v.exactOptional(v.nullable(v.string())),
    last_failure_code: v.exactOptional(v.nullable(v.string())),
    created_at: v.string(),
    updated_at: v.string(),
  }),
  errors: ["unauthorized", "job_not_found"],
};

type Operations = {
  readonly claim: typeof claim;
  readonly complete: typeof complete;
  readonly enqueue: typeof enqueue;
  readonly fail: typeof fail;
  readonly inspect: typeof inspect;
  readonly renew: typeof renew;
};

/** `lenso.jobs@1`: a durable, fenced, pull-based queue. */
export const jobsCapability: CapabilityDefinition<Operations> = {
  descriptor: {
    capability_id: "lenso.jobs@1",
    descriptor_version: "1.0.0",
    portable: true,
    cross_lane_transfer: true,
    operations: ["claim", "complete", "enqueue", "fail", "inspect", "renew"],
    stream_operations: [],
    event_operations: [],
  },
  operations: { claim, complete, enqueue, fail, inspect, renew },
};

/** The name of one operation of `lenso.jobs@1`. */
export type JobsOperation = keyof Operations;

/** A caller's view of `lenso.jobs@1`. Methods resolve to a result and never throw. */
export type JobsClient = ClientOf<Operations>;

/** An implementation of `lenso.jobs@1`. Methods resolve to a result and throw only on bugs. */
export type JobsProvider = ProviderOf<Operations>;
