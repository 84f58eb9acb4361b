import type { JobRevisionFile, JobRevisionStore } from "../ports/job-revision-store.ts";
import type { JobRevision } from "../submission/job-submit-input.ts";
import { rootedPathProblem } from "../tree/rooted-path.ts";
import { type AnchoredFolder, openAnchoredFolder, withFolderBelow } from "./anchored-folder.ts";
import { describeContent } from "./describe-content.ts";
import { eachInFolders } from "./each-in-folders.ts";
import { fileChunks } from "./file-chunks.ts";
import { JobFileError, quotePath } from "./job-file-error.ts";
import { openRegularFile, refuseOther } from "./open-regular-file.ts";
import { walkFiles } from "./walk-files.ts";

/** What is sealed. */
export interface SealDirectoryOptions {
  /** Where the revision belongs, 1..256 UTF-16 code units. */
  readonly workspaceId: string;
  /** The directory that becomes the root of the tree; symbolic links on the way to it are followed, below it they are refused. */
  readonly directory: string;
  /** Only these files, as rooted paths: `/mesh/case.json`. Default: every file below the directory. Folders without files are no part of a tree. */
  readonly paths?: readonly string[];
  /** Aborts the call; the store may keep contents without a revision then. */
  readonly signal?: AbortSignal;
}

/**
 * Seals the files of a directory as a revision. Each is read twice, first for its digest and then into the store, in constant memory; one
 * that changes in between is refused.
 *
 * @throws JobFileError for a symbolic link, a device, a pipe or a socket, a name that no rooted path has, or a file that is missing;
 * JobContentMismatch when a file changed; TypeError when a path stands twice. There is no revision then.
 */
export async function sealDirectory(
  store: JobRevisionStore,
  { workspaceId, directory, paths, signal }: SealDirectoryOptions,
): Promise<JobRevision> {
  await using root = await openAnchoredFolder(directory);
  const files: JobRevisionFile[] = [];
  const sealed = paths?.map(checkPath) ?? (await everyFile(root));
  await eachInFolders(root, sealed, namesOf, async (path, folder, name) => {
    const openHere = () => openRegularFile(folder, name, "any");
    const content = await describeContent(fileChunks(inWords(path), openHere, signal));
    const openAgain = () =>
      withFolderBelow(root, namesOf(path).slice(0, -1), (again) => openRegularFile(again, name, "any"));
    files.push({ path, ...content, open: () => fileChunks(inWords(path), openAgain, signal) });
  });
  return await store.seal({ workspaceId, files }, signal && { signal });
}

async function everyFile(root: AnchoredFolder): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { path, stats } of await walkFiles(root)) {
    refuseOther(root, `${root.path}/${path}`, stats, "any");
    found.push(checkPath(`/${path}`));
  }
  return found;
}

function checkPath(path: string): string {
  const problem = rootedPathProblem(path);
  if (problem === undefined) return path;
  throw new JobFileError("path_invalid", `${quotePath(path)} cannot be sealed: ${problem}`);
}

function namesOf(path: string): readonly string[] {
  return path.slice(1).split("/");
}

function inWords(path: string): string {
  return `the file ${quotePath(path)}`;
}
