/** A kind of artifact that a provider promises. */
export interface JobArtifactDeclaration<Role extends string = string> {
  /** Unique in a provider, 1..256 UTF-16 code units. */
  readonly role: Role;
  /** 1..64, none twice: `type/subtype` without parameters. */
  readonly mediaTypes: readonly string[];
  /** Fewest and most artifacts of this role that a completed job has: integers, 0 ≤ minimum ≤ maximum, and maximum ≥ 1. */
  readonly minimum: number;
  readonly maximum: number;
}

/** A file of the workspace that becomes an artifact. */
export interface JobArtifactPublication<Role extends string = string> {
  readonly role: Role;
  /** In the workspace, as the workspace takes paths. The same role and path published again replaces. */
  readonly path: string;
  /** One of the declared media types of the role. */
  readonly mediaType: string;
}

/** An artifact as it was published: content-addressed and immutable. */
export interface JobPublishedArtifact<Role extends string = string> extends JobArtifactPublication<Role> {
  readonly id: string;
  /** Bytes. */
  readonly length: number;
  /** `sha256:` and 64 hexadecimal digits, of the bytes. */
  readonly digest: string;
}

/** A published artifact that can be read: what queries and commands get. */
export interface JobReadableArtifact<Role extends string = string> extends JobPublishedArtifact<Role> {
  /** Its bytes, verified on the way: the stream ends with an error when length or digest differ. */
  readonly read: (options?: { readonly signal?: AbortSignal }) => AsyncIterable<Uint8Array>;
}
