/** A file of a workspace. */
export interface JobWorkspaceFile {
  /** From the workspace's root, with `/` between segments. */
  readonly path: string;
  /** Bytes. */
  readonly length: number;
}

/**
 * The files of one attempt, in a directory of its own. It starts with the selected input files, the input path `/mesh/case.json` as
 * `mesh/case.json`; an attempt that resumes finds the checkpoint's files over them.
 *
 * A path is relative to the root. One that leaves it is refused, by `..`, from an absolute path on or through a symbolic link, also one that
 * was laid while the attempt ran.
 */
export interface JobWorkspace {
  /** The directory, absolute: for a program that the provider starts. */
  readonly path: string;
  /** @throws when there is no such file, or the path leaves the workspace */
  readonly read: (path: string) => Promise<Uint8Array>;
  /** All files below a folder, sorted by path. Default: of the whole workspace. Symbolic links are left out. */
  readonly list: (folder?: string) => Promise<readonly JobWorkspaceFile[]>;
  /** Writes a file whole and makes its folders; a text as UTF-8. Refused once the attempt lost its lease. */
  readonly write: (path: string, content: string | Uint8Array) => Promise<void>;
}
