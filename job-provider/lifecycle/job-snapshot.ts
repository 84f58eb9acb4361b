import type { JsonValue } from "../../capability/index.ts";
import type { JobInput, JobProviderIdentity } from "../submission/job-submit-input.ts";
import type { JobLifecycleState } from "./job-lifecycle.ts";

/** The durable name of a job. */
export interface JobReference {
  /** The host that keeps the job. 1..256 UTF-16 code units, as the job's id. */
  readonly hostId: string;
  readonly jobId: string;
}

/** What a provider is run with: defaults filled in, validated, and immutable with the job. */
export interface JobEffectiveConfiguration<Value = JsonValue> {
  /** The configuration schema's output, canonical JSON. */
  readonly value: Value;
  /** Digest of the value. */
  readonly digest: string;
  /** The manifest under which it was admitted. */
  readonly providerManifestDigest: string;
}

/** A job as its events tell it: the fold of them by `reduceJobSnapshot`. Deeply frozen. */
export interface JobSnapshot {
  readonly reference: JobReference;
  /** 1 at acceptance, and one more with each event. */
  readonly revision: number;
  readonly provider: JobProviderIdentity;
  readonly input: JobInput;
  readonly configuration: JobEffectiveConfiguration;
  readonly state: JobLifecycleState;
}
