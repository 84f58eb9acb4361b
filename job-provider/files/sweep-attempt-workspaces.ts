import { openAnchoredFolder } from "./anchored-folder.ts";
import { type AttemptIdentity, workspaceName } from "./open-attempt-workspace.ts";
import { removeTree } from "./remove-tree.ts";
import { readAge } from "./sweep-incoming.ts";
import { namesIn, statIfThere } from "./walk-files.ts";

/** Which workspaces are left alone. */
export interface SweepAttemptWorkspacesOptions {
  /** As `openAttemptWorkspace` was given it. */
  readonly directory: string;
  /** The attempts that may still be at work, in any process. */
  readonly keep: readonly AttemptIdentity[];
  /**
   * Younger ones stay too, in ms, from 0: attempts that began after `keep` was read. Longer than the time from that reading to this call.
   * Default 86 400 000, a day.
   */
  readonly olderThanMs?: number;
}

/**
 * Removes the workspaces that processes left which died: nobody else removes them. Only what has the name of a workspace is touched.
 *
 * @returns how many were removed
 * @throws TypeError for an age that is none; JobFileError
 */
export async function sweepAttemptWorkspaces({
  directory,
  keep,
  olderThanMs,
}: SweepAttemptWorkspacesOptions): Promise<number> {
  const before = Date.now() - readAge(olderThanMs);
  const kept = new Set(keep.map(workspaceName));
  await using parent = await openAnchoredFolder(directory);
  let removed = 0;
  for (const name of (await namesIn(parent)).map(String)) {
    if (!/^[0-9a-f]{64}$/.test(name) || kept.has(name)) continue;
    const stats = await statIfThere(parent, name);
    if (!stats?.isDirectory() || stats.mtimeMs > before) continue; // made then: nothing changes in it but its two folders
    await removeTree(parent, name);
    removed += 1;
  }
  return removed;
}
