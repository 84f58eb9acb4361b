import type { JobContent } from "./job-content.ts";

/**
 * Where the bytes of artifacts are kept, by their content: a bucket or a directory whose keys are digests. Who published what, and whether it
 * still counts, is the host's business and stands in its database; a store knows only bytes. Calls may be repeated and may come from several
 * processes at once.
 */
export interface JobArtifactStore {
  /**
   * Keeps content. `open` gives its bytes, and is called again when an upload is tried again; it is not called when the content is there.
   * Nothing is visible under the digest before length and digest have been verified: write beside, verify, then name. A crash before that
   * leaves at most rubbish without a name.
   *
   * @throws JobContentMismatch when the bytes are others; nothing is kept then
   */
  readonly put: (
    content: JobContent,
    open: () => AsyncIterable<Uint8Array>,
    options?: StoreCall,
  ) => Promise<void>;
  /**
   * The bytes, verified on the way (`verifyContent`), or undefined when they are not there.
   *
   * @throws JobContentMismatch from the stream, when the store's bytes have changed
   */
  readonly read: (content: JobContent, options?: StoreCall) => Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Whether the very content is there, length and digest compared, without sending it. May read it to be sure. */
  readonly has: (content: JobContent, options?: StoreCall) => Promise<boolean>;
}

/** How a call to a store may be ended early. */
export interface StoreCall {
  /** Aborts the call; it may have had its effect. */
  readonly signal?: AbortSignal;
}
