import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { digestJson } from "../../canonical/digest.ts";
import type { JobSession } from "../records/job-session.ts";
import { schemaMark } from "../records/schema-mark.ts";

/**
 * Where the attempts of one host have their workspaces: a folder of its own below `directory`, so that hosts and schemas that share that one
 * never sweep each other's. Each call makes the folder when it is not there: in a temporary folder, cleaners may remove it at any time.
 *
 * @returns what rejects with whatever the records or the file system say; its next call tries again
 */
export function workspacesOf(records: JobSession, directory: string): () => Promise<string> {
  let folder: string | undefined;
  return async () => {
    folder ??= join(directory, folderName(records.hostId, await schemaMark(records)));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  };
}

/** Shorter than the name of a workspace. */
function folderName(hostId: string, mark: string): string {
  return digestJson([hostId, mark]).slice("sha256:".length, "sha256:".length + 32);
}
