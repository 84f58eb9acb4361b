/** What can be wrong with files and paths here. A code never changes its meaning. */
export type JobFileErrorCode =
  /** The text is no path of a workspace or of a revision. */
  | "path_invalid"
  /** A symbolic link on the way, or a file with a second name (a hard link): what it leads to may lie outside. */
  | "path_outside"
  /** Nothing is there. */
  | "not_found"
  /** A folder, a pipe, a socket or a device where a file is expected. */
  | "not_a_file"
  /** Something else where a folder is expected. */
  | "not_a_folder"
  /** The file came with the input and is not to be changed. */
  | "read_only"
  /** The name is taken already. */
  | "path_taken"
  /** A name is longer than the file system takes. */
  | "name_too_long"
  /** The device or the quota is full. */
  | "no_space"
  /** The user of this process may not do it, or the file system is mounted read-only. */
  | "no_permission"
  /** A file of the store is not what was written there. */
  | "damaged"
  /** The workspace has been closed. */
  | "closed"
  /** Whatever else the file system refused; `cause` has its words. */
  | "failed";

/** Files that cannot be had, written or named. The message tells the path and the next step, never what is in a file. */
export class JobFileError extends Error {
  override readonly name = "JobFileError";
  readonly code: JobFileErrorCode;

  constructor(code: JobFileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Calls the file system and tells its failures as a {@link JobFileError}. Whatever has no system error code passes as it is.
 *
 * @param what the sentence's beginning, such as `"mesh/a" cannot be read`
 */
export async function withFileErrors<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    const system = systemCodeOf(cause);
    if (system === undefined) throw cause;
    const [code, words] =
      meanings[system] ?? (["failed", "the file system refused it, see the cause"] as const);
    throw new JobFileError(code, `${what}: ${words} (${system})`, { cause });
  }
}

/** `ENOENT` and the like, of an error that the file system gave. */
export function systemCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** A path in a message: control characters escaped, and not longer than a line. */
export function quotePath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 197)}...` : path.toWellFormed());
}

const meanings: Readonly<Record<string, readonly [JobFileErrorCode, string]>> = {
  ENOSPC: ["no_space", "no space is left on the device, free some and try again"],
  EDQUOT: ["no_space", "the disk quota is used up, raise it and try again"],
  EACCES: ["no_permission", "this process's user may not do that, grant it the right"],
  EPERM: ["no_permission", "this process's user may not do that, grant it the right"],
  EROFS: ["no_permission", "the file system is mounted read-only, mount it for writing"],
  ENAMETOOLONG: ["name_too_long", "a name is longer than the file system takes, shorten it"],
  ENOENT: ["not_found", "nothing is there, look whether the path is right"],
  ENOTDIR: [
    "not_a_folder",
    "something else stands where a folder is expected, take it away or choose another path",
  ],
  EISDIR: ["not_a_file", "a folder stands where a file is expected, take it away or choose another path"],
  EEXIST: ["path_taken", "the name is taken, choose another one or take away what is there"],
  ELOOP: ["path_outside", "a symbolic link is on the way, name the file itself"],
  EMFILE: ["failed", "this process has too many files open, raise its limit or close some"],
  ENFILE: ["failed", "the system has too many files open, raise its limit or close some"],
};
