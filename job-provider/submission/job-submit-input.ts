import type { JsonValue } from "../../capability/index.ts";

/** Which provider is to do a job, in the form in which the caller saw it. */
export interface JobProviderIdentity {
  /** Well-formed text of 1..256 UTF-16 code units. */
  readonly id: string;
  /** Well-formed text of 1..256 UTF-16 code units. */
  readonly version: string;
  /** `sha256:` and 64 lowercase hexadecimal digits; another one than the host's is refused, `PROVIDER_MANIFEST_CHANGED`. */
  readonly manifestDigest: string;
}

/** A sealed tree of files. Its digest says what is in it; the other fields say where to find it. */
export interface JobRevision {
  /** Who keeps the revision. Well-formed text of 1..256 UTF-16 code units, as the next two. */
  readonly authorityId: string;
  readonly workspaceId: string;
  readonly revisionId: string;
  /** As `treeDigest` gives it: a revision whose files say otherwise is refused, `REVISION_CHANGED`. */
  readonly treeDigest: string;
}

/** What a job works on: files of a sealed revision. */
export interface JobInput {
  readonly revision: JobRevision;
  /**
   * The files that an attempt gets, at most 10 000, none twice, in the caller's order. Each is rooted and literal, 1..4096 UTF-16 code
   * units: `/mesh/case.json`. Empty: no file.
   */
  readonly paths: readonly string[];
}

/** A configuration as the caller gives it, with what was given on purpose. */
export interface JobConfigurationInput {
  /** Canonical JSON: depth ≤ 128, ≤ 100 000 values, a text ≤ 1 048 576 and all texts together ≤ 4 194 304 UTF-16 code units. */
  readonly value: JsonValue;
  /**
   * JSON pointers (RFC 6901) of what was supplied on purpose, at most 10 000 and 4 194 304 UTF-16 code units together; a default never
   * replaces these. Each must be present in the value.
   */
  readonly explicitPointers: readonly string[];
  /** Digest of the effective configuration that the caller expects; another one is refused, `EFFECTIVE_DIGEST_MISMATCH`. */
  readonly expectedEffectiveDigest?: string;
}

/** A request for a job. Owned and deeply frozen when it comes from `parseJobSubmitInput`. */
export interface JobSubmitInput {
  readonly provider: JobProviderIdentity;
  readonly input: JobInput;
  readonly configuration: JobConfigurationInput;
  /** The caller's name for this request, kept by the caller: 1..256 UTF-16 code units. A lost reply is reconciled under the same key. */
  readonly submissionKey: string;
  /** Aborts the call, not the job. */
  readonly signal?: AbortSignal;
}
