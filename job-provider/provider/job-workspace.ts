/** A file of a workspace. */
export interface JobWorkspaceFile {
  /** From the workspace's root, with `/` between segments. */
  readonly path: string;
  /** Bytes. */
  readonly length: number;
}

/**
 * The files of one attempt, in a directory of its own. It starts with the selected input files, the input path `/mesh/case.json` as
 * `mesh/case.json`; an attempt that resumes finds the checkpoint's files over them. Input files are read-only, a checkpoint's are not.
 *
 * A path is relative to the root. One that leaves it is refused, by `..`, from an absolute path on or through a symbolic link, also one that
 * was laid while the attempt ran. Only regular files are read: a pipe or a device is refused, and so is a file that has a second name.
 */
export interface JobWorkspace {
  /** The directory, absolute: for a program that the provider starts. */
  readonly path: string;
  /** A file whole. @throws when there is no such file, or the path leaves the workspace */
  readonly read: (path: string) => Promise<Uint8Array>;
  /**
   * A file piece by piece, for one that is too large to be read whole. It is opened when the reading starts and closed when it ends.
   * @throws from the stream, as {@link read}
   */
  readonly stream: (path: string) => AsyncIterable<Uint8Array>;
  /** The file at a path, or undefined when nothing or a folder is there. @throws as {@link read} for whatever else is there */
  readonly stat: (path: string) => Promise<JobWorkspaceFile | undefined>;
  /**
   * All files below a folder, sorted by path (UTF-16 code units). Default: of the whole workspace. Symbolic links, pipes and devices are left
   * out. @throws when there is no such folder, or for a name that no path can have
   */
  readonly list: (folder?: string) => Promise<readonly JobWorkspaceFile[]>;
  /**
   * Writes a file whole and makes its folders; a text as UTF-8. Until it resolves the path leads to what was there before. Refused once the
   * attempt lost its lease, and over an input file.
   */
  readonly write: (path: string, content: string | Uint8Array | AsyncIterable<Uint8Array>) => Promise<void>;
  /** Makes a folder and those above it; one that is there is fine. Refused once the attempt lost its lease. */
  readonly makeFolder: (path: string) => Promise<void>;
  /**
   * Removes a file, also one of the input, or a folder with all below it; nothing there is fine, and a symbolic link is removed itself.
   * Refused once the attempt lost its lease.
   */
  readonly remove: (path: string) => Promise<void>;
}
