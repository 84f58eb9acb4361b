import { constants as flags } from "node:fs";
import { open } from "node:fs/promises";
import { verifyContent } from "../ports/job-content.ts";
import type { JobRevisionStore } from "../ports/job-revision-store.ts";
import type { JobRevision } from "../submission/job-submit-input.ts";
import { rootedPathProblem } from "../tree/rooted-path.ts";
import type { JobTreeEntry } from "../tree/tree-digest.ts";
import type { AnchoredFolder } from "./anchored-folder.ts";
import { eachInFolders } from "./each-in-folders.ts";
import { JobFileError, quotePath, withFileErrors } from "./job-file-error.ts";
import { workspacePath } from "./workspace-path.ts";
import { writeChunks } from "./write-chunks.ts";

/** Files of a revision that are laid into a folder. */
export interface RevisionLayer {
  readonly revision: JobRevision;
  readonly files: readonly JobTreeEntry[];
  /** Of the files made: `0o444` for what is only to be read, `0o644` else; the process's umask takes from it. */
  readonly mode: number;
}

/**
 * Copies files of a revision into a folder, each verified on the way. What is there is never replaced.
 *
 * @throws JobFileError, also when the store lacks a file, and when two paths are one name on this file system; JobContentMismatch
 */
export async function layOutRevision(
  folder: AnchoredFolder,
  store: JobRevisionStore,
  { revision, files, mode }: RevisionLayer,
  signal?: AbortSignal,
): Promise<void> {
  await eachInFolders(
    folder,
    files,
    namesOf,
    async (entry, place, name) => {
      const what = notLaidOut(entry);
      const chunks = await store.read(revision, entry, signal && { signal });
      if (chunks === undefined)
        throw new JobFileError("not_found", `${what}: the store lists it and lacks its bytes, restore them`);
      await using handle = await withFileErrors(what, () => open(place.at(name), createFlags, mode));
      await writeChunks(what, handle, verifyContent(chunks, entry), signal);
    },
    true,
  );
}

/** Whatever the store lists: only a path that stays inside becomes one here. */
function namesOf(entry: JobTreeEntry): readonly string[] {
  const problem = rootedPathProblem(entry.path);
  if (problem === undefined) return workspacePath(entry.path.slice(1));
  throw new JobFileError("path_invalid", `${notLaidOut(entry)}: ${problem}`);
}

function notLaidOut({ path }: JobTreeEntry): string {
  return `${quotePath(path)} cannot be laid out`;
}

/**
 * The entries of a revision that a list of paths selects, in its order; all without one.
 *
 * @throws JobFileError when the store does not know the revision, or the revision lacks a path
 */
export async function selectEntries(
  store: JobRevisionStore,
  revision: JobRevision,
  paths?: readonly string[],
  signal?: AbortSignal,
): Promise<readonly JobTreeEntry[]> {
  const entries = await store.list(revision, signal && { signal });
  if (entries === undefined)
    throw new JobFileError(
      "not_found",
      `the revision ${quotePath(revision.revisionId)} is not in the store: seal it there first`,
    );
  if (paths === undefined) return entries;
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  return paths.map((path) => {
    const entry = byPath.get(path);
    if (entry !== undefined) return entry;
    throw new JobFileError(
      "not_found",
      `${quotePath(path)} is no file of the revision ${quotePath(revision.revisionId)}: select what it has`,
    );
  });
}

const createFlags = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | flags.O_NOFOLLOW;
