import { randomUUID } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCodeOf, withFileErrors } from "./job-file-error.ts";
import { writeChunks } from "./write-chunks.ts";

/** The steps of {@link writeBeside}, each named by what has been done. */
export type WriteStep = "opened" | "written" | "synced" | "named" | "kept";

/** Told after each step, and waited for: a test stops the process there. */
export type OnWriteStep = (step: WriteStep) => Promise<void> | void;

/** Where {@link writeBeside} writes. */
export interface BesideTarget {
  /** The folder of the store: the outermost one that is made and synced. */
  readonly directory: string;
  /** The file's own path, below `directory`. What is there is replaced. */
  readonly path: string;
  /** The beginning of an error's sentence, such as `the revision is not sealed`. */
  readonly what: string;
}

/**
 * Writes a file so that its name leads to all of it or to nothing: under another name in `directory/incoming`, synced, then renamed. The new
 * name itself survives a power failure only after `syncFolders`. When the stream throws, nothing is kept.
 *
 * @throws JobFileError, or whatever the stream throws
 */
export async function writeBeside(
  { directory, path, what }: BesideTarget,
  chunks: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
  onStep: OnWriteStep = () => {},
): Promise<void> {
  const beside = join(incomingFolder(directory), randomUUID());
  const handle = await withFileErrors(what, async () => {
    await makeFolders(dirname(beside));
    return open(beside, "wx", 0o600);
  });
  try {
    try {
      await onStep("opened");
      await writeChunks(what, handle, chunks, signal);
      await onStep("written");
      await withFileErrors(what, () => handle.sync());
      await onStep("synced");
    } finally {
      await handle.close();
    }
    await withFileErrors(what, async () => {
      await makeFolders(dirname(path));
      await rename(beside, path);
    });
  } catch (error) {
    await rm(beside, { force: true }).catch(() => {}); // a sweep finds what cannot be removed now
    throw error;
  }
  await onStep("named");
}

/** Where a store writes before it names. */
export function incomingFolder(directory: string): string {
  return join(directory, "incoming");
}

/**
 * Makes the names in a folder, and those of the folders above it up to the store's, survive a power failure.
 *
 * @throws JobFileError
 */
export async function syncFolders(directory: string, folder: string, what: string): Promise<void> {
  await withFileErrors(what, async () => {
    for (let path = folder; ; path = dirname(path)) {
      await syncFolder(path);
      if (path === directory) return;
    }
  });
}

/** With the folders above that are missing; each new name is synced in the folder that holds it. */
async function makeFolders(folder: string): Promise<void> {
  try {
    await mkdir(folder, 0o700);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolders(dirname(folder));
    return makeFolders(folder);
  }
  await syncFolder(dirname(folder));
}

async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, "r");
  await handle.sync();
}
