import { constants as flags, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { type AnchoredFolder, refuseOutside, shown } from "./anchored-folder.ts";
import { kindOf } from "./file-kind.ts";
import { JobFileError, withFileErrors } from "./job-file-error.ts";

/**
 * Opens a file of a folder for reading. Never waits for the other end of a pipe, and never follows a symbolic link.
 *
 * @param links how many names the file may have: one, or any number of hard links
 * @returns the open file, to be closed
 * @throws JobFileError for whatever is no regular file
 */
export async function openRegularFile(
  folder: AnchoredFolder,
  name: string,
  links: "one" | "any",
): Promise<FileHandle> {
  const path = join(folder.path, name);
  return withFileErrors(`the file ${shown(folder, path)} cannot be read`, async () => {
    refuseOther(folder, path, await lstat(folder.at(name)), links); // opening a device may already do something
    const handle = await open(folder.at(name), readFlags);
    await refuseOutside(folder, name, handle);
    try {
      refuseOther(folder, path, await handle.stat(), links);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  });
}

/** Refuses an entry that is no regular file, or one with more names than it may have. @throws JobFileError */
export function refuseOther(folder: AnchoredFolder, path: string, stats: Stats, links: "one" | "any"): void {
  const kind = kindOf(stats);
  if (kind === "a symbolic link")
    throw new JobFileError(
      "path_outside",
      `${shown(folder, path)} is a symbolic link: name the file itself, or copy it here`,
    );
  if (kind !== "a file")
    throw new JobFileError("not_a_file", `${shown(folder, path)} is ${kind}: expected a regular file`);
  if (links === "one" && stats.nlink > 1)
    throw new JobFileError(
      "path_outside",
      `${shown(folder, path)} has ${stats.nlink} names (hard links), and one may lie outside: copy the file`,
    );
}

const readFlags = flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK | flags.O_NOCTTY;
