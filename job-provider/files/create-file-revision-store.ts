import { dirname, join, resolve } from "node:path";
import { digestJson, isDigest } from "../canonical/digest.ts";
import { refuse } from "../canonical/pointer-text.ts";
import { readIdentity } from "../canonical/read-record.ts";
import type { JobRevisionStore } from "../ports/job-revision-store.ts";
import type { JobRevision } from "../submission/job-submit-input.ts";
import { layoutProblems } from "../tree/layout-problems.ts";
import { type JobTreeEntry, treeDigest } from "../tree/tree-digest.ts";
import { type ContentStore, createContentStore } from "./content-store.ts";
import { eachInParallel } from "./each-in-parallel.ts";
import { readListing, writeListing } from "./revision-listing.ts";
import { type SweepOptions, sweepIncoming } from "./sweep-incoming.ts";
import { type OnWriteStep, syncFolders } from "./write-beside.ts";

/** Revisions on the file system. */
export interface FileRevisionStore extends JobRevisionStore {
  /**
   * Removes what seals that died left beside the files: call it now and then, such as once a day. Nothing else removes it. Files of a seal
   * that died before its revision was listed stay, under their digests: the next seal of the same tree takes them up.
   *
   * @returns how many files were removed
   */
  readonly sweep: (options?: SweepOptions) => Promise<number>;
}

/** Where a store is, and whose. */
export interface FileRevisionStoreOptions {
  /**
   * The store's own directory, on one file system; made with the first seal, for its user alone. All processes that share the store name the
   * same one. Revisions are never removed: that is for whoever knows which ones still count.
   */
  readonly directory: string;
  /** The authority whose revisions these are, well-formed text of 1..256 UTF-16 code units. */
  readonly authorityId: string;
}

/**
 * Keeps revisions in a directory: each content once, as `sha256/ab/cdef…`, and each revision as a list of its files, `revisions/…/….json`. A
 * revision's id is its tree digest, so the same tree in the same workspace is the same revision, whoever seals it.
 *
 * The list is written last and at once, after every file has been verified and synced: a crash before that leaves no revision, and one that
 * `seal` has returned survives a power failure. The files themselves are kept as `createFileArtifactStore` says.
 *
 * @throws TypeError for an authority that is none. All calls throw `JobFileError` when the file system refuses.
 */
export function createFileRevisionStore(options: FileRevisionStoreOptions): FileRevisionStore {
  return revisionStoreAt(options, () => {});
}

/** The same, told of each step. @internal */
export function revisionStoreAt(options: FileRevisionStoreOptions, onStep: OnWriteStep): FileRevisionStore {
  const authorityId = readIdentity({ value: options.authorityId, at: ["authorityId"] });
  const directory = resolve(options.directory);
  const contents = createContentStore(directory, onStep);
  const folderOf = rememberLast((workspaceId: string) =>
    digestJson([authorityId, workspaceId]).slice("sha256:".length),
  );
  const listingPath = (revision: JobRevision): string | undefined =>
    revision.authorityId === authorityId && isDigest(revision.revisionId)
      ? join(
          directory,
          "revisions",
          folderOf(revision.workspaceId),
          `${revision.revisionId.slice("sha256:".length)}.json`,
        )
      : undefined;
  const filesOf = rememberListings();
  return Object.freeze<FileRevisionStore>({
    authorityId,
    async list(revision, { signal } = {}) {
      signal?.throwIfAborted();
      const path = listingPath(revision);
      return path === undefined ? undefined : readListing(path);
    },
    async read(revision, { path: filePath, length, digest }, callOptions) {
      callOptions?.signal?.throwIfAborted();
      const path = listingPath(revision);
      const entry = path === undefined ? undefined : (await filesOf(path))?.get(filePath);
      if (entry === undefined || entry.length !== length || entry.digest !== digest) return undefined;
      return contents.read(entry, callOptions);
    },
    async seal({ workspaceId, files }, callOptions) {
      readIdentity({ value: workspaceId, at: ["workspaceId"] });
      const digest = treeDigest(files);
      refuseWhatCannotBeLaidOut(files);
      const revision = Object.freeze({ authorityId, workspaceId, revisionId: digest, treeDigest: digest });
      await keepContents(directory, contents, files, callOptions);
      const path = listingPath(revision) as string;
      await writeListing({ directory, path, files, onStep, signal: callOptions?.signal });
      return revision;
    },
    sweep: (sweepOptions) => sweepIncoming(directory, sweepOptions),
  });
}

/** A revision is there to be laid out. @throws TypeError naming the file */
function refuseWhatCannotBeLaidOut(files: readonly JobTreeEntry[]): void {
  const problems = layoutProblems(files.map(({ path }) => path));
  for (const [index, { path }] of files.entries()) {
    const problem = problems.get(path);
    if (problem !== undefined) refuse([String(index), "path"], problem);
  }
}

/** Equal contents are sent once. */
async function keepContents(
  directory: string,
  contents: ContentStore,
  files: Parameters<JobRevisionStore["seal"]>[0]["files"],
  options: Parameters<JobRevisionStore["seal"]>[1],
): Promise<void> {
  const folders = new Set<string>();
  const unique = new Map(files.map((file) => [`${file.length} ${file.digest}`, file]));
  await eachInParallel(unique.values(), async ({ length, digest, open }) => {
    folders.add(await contents.keep({ length, digest }, open, options));
  });
  const above = [...new Set([...folders].map((folder) => dirname(folder)))];
  for (const folder of folders) await syncFolders(folder, folder, "the revision is not sealed");
  for (const folder of above) await syncFolders(directory, folder, "the revision is not sealed");
}

/** Files are read one by one, nearly always of one workspace after the other. */
function rememberLast(call: (text: string) => string): (text: string) => string {
  let last: readonly [text: string, result: string] | undefined;
  return (text) => {
    if (last?.[0] !== text) last = [text, call(text)];
    return last[1];
  };
}

/** Most lists that are kept in memory, so that reading the files of a revision one by one does not read its list each time. */
const REMEMBERED = 4;

function rememberListings(): (path: string) => Promise<ReadonlyMap<string, JobTreeEntry> | undefined> {
  const remembered = new Map<string, ReadonlyMap<string, JobTreeEntry>>();
  return async (path) => {
    const known = remembered.get(path);
    if (known !== undefined) return known;
    const entries = await readListing(path);
    if (entries === undefined) return undefined;
    const byPath = new Map(entries.map((entry) => [entry.path, entry]));
    remembered.set(path, byPath);
    for (const oldest of [...remembered.keys()].slice(0, -REMEMBERED)) remembered.delete(oldest);
    return byPath;
  };
}
