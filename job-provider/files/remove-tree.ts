import { randomUUID } from "node:crypto";
import { chmod, rename, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type AnchoredFolder, openFolderIn, shown } from "./anchored-folder.ts";
import { JobFileError, systemCodeOf, withFileErrors } from "./job-file-error.ts";
import { namesIn, statIfThere } from "./walk-files.ts";

/** How often a folder is emptied that somebody keeps filling. */
const ROUNDS = 16;

/**
 * Removes an entry of a folder, and everything below it when it is a folder. Links are removed, never followed. Nothing there is fine.
 *
 * However deep the tree is, two of its folders are open at a time: a folder that is found deeper is moved to the top first.
 *
 * @throws JobFileError, also when something keeps writing in it
 */
export async function removeTree(parent: AnchoredFolder, name: string): Promise<void> {
  const path = shown(parent, join(parent.path, name));
  await withFileErrors(`${path} cannot be removed`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      if (await removeUnlessFolder(parent, name)) return;
      await emptyFolder(parent, name);
      if (await removeIfEmpty(parent, name)) return;
    }
    throw new JobFileError("failed", `${path} cannot be removed: something writes in it, end that first`);
  });
}

async function emptyFolder(parent: AnchoredFolder, name: string): Promise<void> {
  await using top = await openToEmpty(parent, name);
  const waiting: (string | Buffer)[] = await removeFilesIn(top);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    await using folder = await openToEmpty(top, next);
    for (const below of await removeFilesIn(folder)) {
      const moved = randomUUID();
      await openToEmpty(folder, below).then((opened) => opened[Symbol.asyncDispose]());
      await rename(folder.at(below), top.at(moved));
      waiting.push(moved);
    }
    await removeIfEmpty(top, next);
  }
}

/** What is left in the folder are folders: their names. */
async function removeFilesIn(folder: AnchoredFolder): Promise<Buffer[]> {
  const folders: Buffer[] = [];
  for (const name of await namesIn(folder)) if (!(await removeUnlessFolder(folder, name))) folders.push(name);
  return folders;
}

async function removeUnlessFolder(parent: AnchoredFolder, name: string | Buffer): Promise<boolean> {
  try {
    await unlink(parent.at(name));
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "ENOENT") return true;
    const stats = await statIfThere(parent, name);
    if (stats?.isDirectory()) return false; // refused as EISDIR by one system and as EPERM by another
    if (stats !== undefined) throw error;
  }
  return true;
}

async function removeIfEmpty(parent: AnchoredFolder, name: string | Buffer): Promise<boolean> {
  try {
    await rmdir(parent.at(name));
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    if (code !== "ENOENT") throw error;
  }
  return true;
}

/** Opens a folder that the program which made it may have closed to its own user. */
async function openToEmpty(parent: AnchoredFolder, name: string | Buffer): Promise<AnchoredFolder> {
  const folder = await openFolderIn(parent, name).catch(async (error: unknown) => {
    if (!(error instanceof JobFileError) || error.code !== "no_permission") throw error;
    await chmod(parent.at(name), ownersOnly);
    return openFolderIn(parent, name);
  });
  try {
    if (((await folder.handle.stat()).mode & ownersOnly) !== ownersOnly)
      await folder.handle.chmod(ownersOnly);
    return folder;
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

const ownersOnly = 0o700;
