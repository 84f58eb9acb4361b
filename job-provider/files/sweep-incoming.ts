import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { quotePath, systemCodeOf, withFileErrors } from "./job-file-error.ts";
import { incomingFolder } from "./write-beside.ts";

/** What a sweep takes away. */
export interface SweepOptions {
  /**
   * Only files that nothing was written to for so long, in ms, from 0. Too low takes away a file that is still being written: its writer fails
   * and has to try again. Default 86 400 000, a day.
   */
  readonly olderThanMs?: number;
}

/**
 * Removes what writers that died left in a store. Never touches what has a name.
 *
 * @returns how many files were removed
 * @throws TypeError for an age that is none; JobFileError
 */
export async function sweepIncoming(directory: string, options: SweepOptions = {}): Promise<number> {
  const before = Date.now() - readAge(options.olderThanMs);
  const folder = incomingFolder(directory);
  return withFileErrors(`the store ${quotePath(directory)} cannot be swept`, async () => {
    let removed = 0;
    for (const name of await orWhenGone(readdir(folder), [])) {
      const path = join(folder, name);
      const stats = await orWhenGone(lstat(path), undefined);
      if (stats === undefined || stats.mtimeMs > before) continue;
      await rm(path, { force: true });
      removed += 1;
    }
    return removed;
  });
}

/** An age in ms. @throws TypeError */
export function readAge(olderThanMs = 86_400_000): number {
  if (Number.isFinite(olderThanMs) && olderThanMs >= 0) return olderThanMs;
  throw new TypeError(`olderThanMs: expected a number of ms from 0, got ${olderThanMs}`);
}

async function orWhenGone<T, U>(call: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await call;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return otherwise;
    throw error;
  }
}
