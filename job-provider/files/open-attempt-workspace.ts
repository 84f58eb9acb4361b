import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { digestJson } from "../canonical/digest.ts";
import type { JobReference } from "../lifecycle/job-snapshot.ts";
import type { JobRevisionFile, JobRevisionStore } from "../ports/job-revision-store.ts";
import type { JobWorkspace } from "../provider/job-workspace.ts";
import type { JobInput, JobRevision } from "../submission/job-submit-input.ts";
import {
  type AnchoredFolder,
  asRoot,
  type FolderAnchor,
  openAnchoredFolder,
  openFolderIn,
} from "./anchored-folder.ts";
import { inputsBeside } from "./inputs-beside.ts";
import { JobFileError, withFileErrors } from "./job-file-error.ts";
import { layOutRevision, selectEntries } from "./lay-out-revision.ts";
import { removeTree } from "./remove-tree.ts";
import { workspaceFiles, workspaceFolders } from "./workspace-files.ts";

/** Which attempt a workspace is of. Ids may hold any characters: names of directories are digests of them. */
export interface AttemptIdentity {
  readonly job: JobReference;
  /** Never used again for another attempt of the job. */
  readonly attemptId: string;
}

/** What a workspace starts with, and where. */
export interface OpenAttemptWorkspaceOptions extends AttemptIdentity {
  /** Where the workspaces of a host lie, each in a directory of its own. It is there already, on a local file system. */
  readonly directory: string;
  readonly revisions: JobRevisionStore;
  /** The files that are laid out read-only. */
  readonly input: JobInput;
  /**
   * The checkpoint to go on from: all of its files are laid out for writing, in the place of input files of the same paths, of those that would
   * be its folders, and of those below its files.
   */
  readonly checkpoint?: JobRevision;
  /** Called before each change through the workspace; what it throws refuses the change. Default: every change is allowed. */
  readonly assertLive?: () => void;
  /** Aborts the opening; nothing stays then. */
  readonly signal?: AbortSignal;
}

/** The files of one attempt, in the host's hands. */
export interface AttemptWorkspace extends AsyncDisposable {
  /** What the provider gets. Every call throws `JobFileError`. */
  readonly files: JobWorkspace;
  /**
   * A file to be published or sealed: its rooted path, and its length and digest as they are now, computed in one pass and in constant memory.
   * `open` reads the file again and checks the path again: whoever verifies what it gives, as every store does, refuses a file that has
   * changed since.
   */
  readonly source: (path: string) => Promise<JobRevisionFile>;
  /**
   * Ends the calls under way, `closed`, and removes all files. Programs that the attempt started have to have ended. Called again it does
   * nothing; after a failure it tries again.
   */
  readonly close: () => Promise<void>;
}

/**
 * Makes the directory of an attempt, with the selected input files in it, each verified while it is copied.
 *
 * What holds against a program of the same user that is hostile: on Linux, no call here reads, writes or removes anything outside of the
 * directory, whatever links are laid and folders exchanged meanwhile; elsewhere, exchanges in the moment between an opening and its check may
 * go unseen. What cannot be had: such a program can read and write whatever its user can, the stores and other attempts included, can change
 * files while they are copied from here, and can copy in what lies outside. Run what is not trusted as another user, or in a container.
 *
 * @throws JobFileError `path_taken` when the attempt has a directory already, and whatever else the file system refuses;
 * JobContentMismatch when a file is not what was sealed. Nothing stays then.
 */
export function openAttemptWorkspace(options: OpenAttemptWorkspaceOptions): Promise<AttemptWorkspace> {
  return openWorkspaceBy(undefined, options);
}

/** The same, with names looked up in a given way. @internal */
export async function openWorkspaceBy(
  anchor: FolderAnchor | undefined,
  options: OpenAttemptWorkspaceOptions,
): Promise<AttemptWorkspace> {
  const parent = await openAnchoredFolder(options.directory, anchor);
  const name = workspaceName(options);
  let made = false;
  try {
    await withFileErrors(notMade, () => mkdir(parent.at(name), 0o700)).catch(refuseSecond);
    made = true;
    const home = await openFolderIn(parent, name);
    try {
      await layOut(home, options);
      return attemptWorkspace(parent, home, name, options.assertLive);
    } catch (error) {
      await home[Symbol.asyncDispose]();
      throw error;
    }
  } catch (error) {
    if (made) await removeTree(parent, name).catch(() => {}); // a sweep finds what cannot be removed now
    await parent[Symbol.asyncDispose]();
    throw error;
  }
}

/** The name of an attempt's directory. @throws TypeError for an id that is no well-formed text */
export function workspaceName({ job, attemptId }: AttemptIdentity): string {
  return digestJson([job.hostId, job.jobId, attemptId]).slice("sha256:".length);
}

const notMade = "the attempt's workspace cannot be made";

function refuseSecond(error: unknown): never {
  if (!(error instanceof JobFileError) || error.code !== "path_taken") throw error;
  throw new JobFileError(
    "path_taken",
    "the attempt has a workspace already: another process is at work on it, or one died; begin a new attempt, and sweep",
    { cause: error.cause },
  );
}

async function layOut(
  home: AnchoredFolder,
  { revisions, input, checkpoint, signal }: OpenAttemptWorkspaceOptions,
): Promise<void> {
  for (const folder of workspaceFolders) await withFileErrors(notMade, () => mkdir(home.at(folder), 0o755));
  const resumed = checkpoint ? await selectEntries(revisions, checkpoint, undefined, signal) : [];
  const selected =
    input.paths.length > 0 ? await selectEntries(revisions, input.revision, input.paths, signal) : [];
  const inputFiles = inputsBeside(resumed, selected);
  await using root = await openFolderIn(home, workspaceFolders[0]);
  const top = asRoot(root);
  await layOutRevision(top, revisions, { revision: input.revision, files: inputFiles, mode: 0o444 }, signal);
  if (checkpoint)
    await layOutRevision(top, revisions, { revision: checkpoint, files: resumed, mode: 0o644 }, signal);
}

function attemptWorkspace(
  parent: AnchoredFolder,
  home: AnchoredFolder,
  name: string,
  assertLive: () => void = () => {},
): AttemptWorkspace {
  const closing = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;
  const files = workspaceFiles(home, assertLive, closing.signal);
  /** Refuses a call after the end, and lets the end wait for it. */
  const during =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      closing.signal.throwIfAborted();
      const result = call(...args);
      underWay.add(result);
      return result.finally(() => underWay.delete(result));
    };
  const close = async (): Promise<void> => {
    closing.abort(new JobFileError("closed", "the attempt's workspace is closed: its files are gone"));
    await Promise.allSettled(underWay);
    await removeTree(parent, name);
    await home[Symbol.asyncDispose]();
    await parent[Symbol.asyncDispose]();
  };
  const closeOnce = (): Promise<void> => {
    closed ??= close().catch((error: unknown) => {
      closed = undefined;
      throw error;
    });
    return closed;
  };
  return Object.freeze<AttemptWorkspace>({
    files: Object.freeze<JobWorkspace>({
      path: join(home.path, workspaceFolders[0]),
      read: during(files.read),
      stream: files.stream,
      stat: during(files.stat),
      list: during(files.list),
      write: during(files.write),
      makeFolder: during(files.makeFolder),
      remove: during(files.remove),
    }),
    source: during(files.source),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  });
}
