import type { JobRevision } from "../submission/job-submit-input.ts";
import type { JobTreeEntry } from "../tree/tree-digest.ts";
import type { StoreCall } from "./job-artifact-store.ts";

/** A file to be sealed, and its bytes. */
export interface JobRevisionFile extends JobTreeEntry {
  /** Gives the bytes; called again when an upload is tried again. */
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** What becomes a revision. */
export interface JobRevisionSeal {
  /** Where the revision belongs, 1..256 UTF-16 code units. */
  readonly workspaceId: string;
  /** In any order, no path twice, none that is a folder of another, no name of more than 255 bytes: an attempt lays them out. */
  readonly files: readonly JobRevisionFile[];
}

/**
 * Where sealed trees of files are kept: inputs that an authority published, and checkpoints that attempts seal. A sealed revision never
 * changes. A store may keep each file under its digest and each revision as a list of entries; that list is small, and is read often. Calls
 * may be repeated and may come from several processes at once.
 */
export interface JobRevisionStore {
  /** The authority whose revisions these are. One that names another is unknown here. */
  readonly authorityId: string;
  /**
   * All files of a revision, or undefined when there is none of that workspace and id. The tree digest is not compared: the host computes it
   * from the entries, and so finds that a revision is another one.
   */
  readonly list: (revision: JobRevision, options?: StoreCall) => Promise<readonly JobTreeEntry[] | undefined>;
  /**
   * The bytes of a file of a revision, verified on the way (`verifyContent`), or undefined when it is not there.
   *
   * @throws JobContentMismatch from the stream, when the store's bytes have changed
   */
  readonly read: (
    revision: JobRevision,
    file: JobTreeEntry,
    options?: StoreCall,
  ) => Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * Seals files and names them. Every file is verified before the revision is listed, so that a crash leaves nothing half visible. Sealing the
   * same tree in the same workspace again gives the same revision or another one with the same tree digest.
   *
   * @throws JobContentMismatch when a file's bytes are others; there is no revision then
   */
  readonly seal: (seal: JobRevisionSeal, options?: StoreCall) => Promise<JobRevision>;
}
