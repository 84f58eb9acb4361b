import { existsSync, constants as flags } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { kindOf } from "./file-kind.ts";
import { JobFileError, quotePath, systemCodeOf, withFileErrors } from "./job-file-error.ts";

/**
 * How names below a folder are looked up.
 *
 * - `descriptor`: below the open folder itself, by way of `/proc/self/fd`. Whatever becomes of the folder's path meanwhile, a name cannot
 *   lead anywhere else: there is no moment between a check and the use. Linux.
 * - `path`: by path, and the real path of whatever was opened is compared afterwards. Someone who exchanges a folder for a link and back, in
 *   between the two, is not seen.
 */
export type FolderAnchor = "descriptor" | "path";

/** An open folder: names are looked up in this very folder. */
export interface AnchoredFolder extends AsyncDisposable {
  /** Absolute, without symbolic links when it was opened. */
  readonly path: string;
  readonly handle: FileHandle;
  readonly anchor: FolderAnchor;
  /** The path of the outermost folder, which names never leave. */
  readonly root: string;
  /** A path to a name in this folder for a call of the file system. Only the last step of it can be a symbolic link. */
  readonly at: (name: string | Buffer) => string | Buffer;
}

/**
 * Opens a folder that is trusted as it is; symbolic links on the way to it are followed. To be disposed of.
 *
 * @throws JobFileError when it is not there or is none
 */
export async function openAnchoredFolder(
  directory: string,
  anchor: FolderAnchor = existsSync("/proc/self/fd") ? "descriptor" : "path",
): Promise<AnchoredFolder> {
  return withFileErrors(`the folder ${quotePath(directory)} cannot be opened`, async () => {
    const path = await realpath(directory);
    return folderOf(path, await open(path, folderFlags), anchor, path);
  });
}

/**
 * Opens a folder in a folder. To be disposed of.
 *
 * @throws JobFileError when nothing is there, or something else, also a symbolic link to a folder
 */
export async function openFolderIn(parent: AnchoredFolder, name: string | Buffer): Promise<AnchoredFolder> {
  const path = join(parent.path, name.toString());
  const handle = await withFileErrors(`the folder ${shown(parent, path)} cannot be opened`, () =>
    open(parent.at(name), folderFlags).catch(async (error: unknown) => {
      if (systemCodeOf(error) !== "ENOTDIR" && systemCodeOf(error) !== "ELOOP") throw error;
      const kind = kindOf(await lstat(parent.at(name)));
      throw new JobFileError(
        kind === "a symbolic link" ? "path_outside" : "not_a_folder",
        `${shown(parent, path)} is ${kind}: expected a folder, take it away or choose another path`,
      );
    }),
  );
  await refuseOutside(parent, name, handle);
  return folderOf(path, handle, parent.anchor, parent.root);
}

/**
 * Walks down from a folder, one name after the other, and calls with the last folder; it is closed afterwards.
 *
 * @param make makes the folders that are missing
 */
export async function withFolderBelow<T>(
  top: AnchoredFolder,
  names: readonly string[],
  use: (folder: AnchoredFolder) => Promise<T>,
  make = false,
): Promise<T> {
  let folder = top;
  const leave = async (): Promise<void> => {
    if (folder !== top) await folder[Symbol.asyncDispose]();
  };
  try {
    for (const name of names) {
      if (make) await makeFolderIn(folder, name);
      const next = await openFolderIn(folder, name);
      await leave();
      folder = next;
    }
    return await use(folder);
  } finally {
    await leave();
  }
}

/**
 * For the anchor `path`: refuses what was opened when it is not what its name leads to, or lies outside of the root. Closes the handle then.
 *
 * @throws JobFileError
 */
export async function refuseOutside(
  parent: AnchoredFolder,
  name: string | Buffer,
  handle: FileHandle,
): Promise<void> {
  if (parent.anchor === "descriptor") return;
  const path = shown(parent, join(parent.path, name.toString()));
  try {
    await withFileErrors(`${path} cannot be looked at`, async () => {
      const real = await realpath(parent.at(name), { encoding: "buffer" });
      const [opened, named] = [await handle.stat(), await stat(real)];
      const way = relative(parent.root, real.toString());
      const outside = isAbsolute(way) || way === ".." || way.startsWith(`..${sep}`);
      if (!outside && opened.ino === named.ino && opened.dev === named.dev) return;
      throw new JobFileError("path_outside", `${path} leads outside: a folder on the way was exchanged`);
    });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The same open folder, as the one that names below it never leave. */
export function asRoot(folder: AnchoredFolder): AnchoredFolder {
  return { ...folder, root: folder.path };
}

/** A path in a message, from the root on. */
export function shown(folder: AnchoredFolder, path: string): string {
  return quotePath(relative(folder.root, path) || ".");
}

const folderFlags = flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW;

async function makeFolderIn(parent: AnchoredFolder, name: string): Promise<void> {
  await withFileErrors(`the folder ${shown(parent, join(parent.path, name))} cannot be made`, () =>
    mkdir(parent.at(name)).catch((error: unknown) => {
      if (systemCodeOf(error) !== "EEXIST") throw error; // whatever is there is looked at when it is opened
    }),
  );
}

function folderOf(path: string, handle: FileHandle, anchor: FolderAnchor, root: string): AnchoredFolder {
  const base = anchor === "descriptor" ? `/proc/self/fd/${handle.fd}` : path;
  return {
    path,
    handle,
    anchor,
    root,
    at: (name) =>
      typeof name === "string" ? `${base}/${name}` : Buffer.concat([Buffer.from(`${base}/`), name]),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}
