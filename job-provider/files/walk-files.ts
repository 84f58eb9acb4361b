import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type AnchoredFolder, openFolderIn, shown, withFolderBelow } from "./anchored-folder.ts";
import { JobFileError, quotePath, systemCodeOf, withFileErrors } from "./job-file-error.ts";

/** An entry of a folder that is no folder. */
export interface WalkedEntry {
  /** From the root of the walk, `/` between the names, none in front. */
  readonly path: string;
  /** Of the entry itself: a symbolic link is not followed. */
  readonly stats: Stats;
}

/** Most folders that are open at a time, one in the other; deeper ones are opened from the top again. */
const OPEN_AT_A_TIME = 32;

/**
 * Everything below a folder that is no folder, in no order; symbolic links are never followed. What disappears meanwhile may be missing, what
 * appears may be there.
 *
 * @param names the folder to start in, from `top` on
 * @throws JobFileError when that folder cannot be read, or for a name that is not UTF-8 text
 */
export async function walkFiles(
  top: AnchoredFolder,
  names: readonly string[] = [],
): Promise<readonly WalkedEntry[]> {
  const found: WalkedEntry[] = [];
  const waiting: (readonly string[])[] = [];
  const walk = async (folder: AnchoredFolder, path: readonly string[], open: number): Promise<void> => {
    for (const bytes of await namesIn(folder)) {
      const stats = await statIfThere(folder, bytes);
      if (stats === undefined) continue;
      const name = textOf(folder, bytes);
      const below = [...path, name];
      if (!stats.isDirectory()) found.push({ path: below.join("/"), stats });
      else if (open >= OPEN_AT_A_TIME) waiting.push(below);
      else
        await unlessGone(async () => {
          await using child = await openFolderIn(folder, name);
          await walk(child, below, open + 1);
        });
    }
  };
  await withFolderBelow(top, names, (folder) => walk(folder, names, 1));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const path = next;
    await unlessGone(() => withFolderBelow(top, path, (folder) => walk(folder, path, 1)));
  }
  return found;
}

async function unlessGone(call: () => Promise<void>): Promise<void> {
  await call().catch((error: unknown) => {
    if (!(error instanceof JobFileError) || error.code !== "not_found") throw error;
  });
}

/** The names in a folder as their bytes, which need not be text. @throws JobFileError */
export async function namesIn(folder: AnchoredFolder): Promise<readonly Buffer[]> {
  return withFileErrors(`the folder ${shown(folder, folder.path)} cannot be listed`, () =>
    readdir(folder.at("."), { encoding: "buffer" }),
  );
}

/** What stands under a name, undefined when nothing does. A symbolic link is not followed. @throws JobFileError */
export async function statIfThere(folder: AnchoredFolder, name: string | Buffer): Promise<Stats | undefined> {
  const path = join(folder.path, name.toString());
  return withFileErrors(`${shown(folder, path)} cannot be looked at`, async () => {
    try {
      return await lstat(folder.at(name));
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  });
}

function textOf(folder: AnchoredFolder, name: Buffer): string {
  const text = name.toString();
  if (Buffer.from(text).equals(name)) return text;
  throw new JobFileError(
    "path_invalid",
    `the folder ${shown(folder, folder.path)} holds a name that is not UTF-8, ${quotePath(text)}: rename the file`,
  );
}
