import { resolve } from "node:path";
import type { JobArtifactStore } from "../ports/job-artifact-store.ts";
import { createContentStore } from "./content-store.ts";
import { type SweepOptions, sweepIncoming } from "./sweep-incoming.ts";

/** Artifacts on the file system. */
export interface FileArtifactStore extends JobArtifactStore {
  /**
   * Removes what puts that died left beside the contents: call it now and then, such as once a day. Nothing else removes it.
   *
   * @returns how many files were removed
   */
  readonly sweep: (options?: SweepOptions) => Promise<number>;
}

/** Where a store is. */
export interface FileArtifactStoreOptions {
  /**
   * The store's own directory, on one file system; made with the first content, for its user alone. All processes that share the store name
   * the same one. Contents are never removed: that is for whoever knows which artifacts still count.
   */
  readonly directory: string;
}

/**
 * Keeps artifacts in a directory, each content once, as `sha256/ab/cdef…` by its digest. Nothing is read, made or removed before the first call.
 *
 * - A content is written beside, verified, synced and renamed, and the folders are synced, so that once `put` has resolved it survives a power
 *   failure, and before that nothing is visible. Several processes may put the same content at once.
 * - A `put` of what is there reads and compares it, and calls `open` only when it is missing or damaged: damage is mended by the next `put`.
 *   It makes the file as young as a new one, so that contents that nothing names can be removed by their age while others are put.
 * - `has` reads too. `read` verifies on the way.
 *
 * All calls throw `JobFileError` when the file system refuses: `no_space`, `no_permission`, `not_a_file`, `not_a_folder` and so on.
 */
export function createFileArtifactStore({ directory }: FileArtifactStoreOptions): FileArtifactStore {
  const path = resolve(directory);
  const { put, read, has } = createContentStore(path);
  return Object.freeze({ put, read, has, sweep: (options?: SweepOptions) => sweepIncoming(path, options) });
}
