import { createHash, randomUUID } from "node:crypto";
import { appendFile, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Workshop } from "./workshop.ts";

/**
 * A workshop in a directory: `notes/` with a JSON file a note; `hot-folder/`, which a printer watches and empties; and `announcements.jsonl`,
 * one line each. A file that is named is whole. Folders are made when they are needed.
 */
export function createFolderWorkshop(directory: string): Workshop {
  const writeWhole = async (folder: string, name: string, content: string): Promise<void> => {
    await mkdir(join(directory, folder), { recursive: true });
    const beside = join(directory, `.${randomUUID()}`); // not in the folder: a printer would take it half written
    await writeFile(beside, content);
    await rename(beside, join(directory, folder, name));
  };
  return {
    keepNote: (note) =>
      writeWhole("notes", `${nameOf(note.jobId, note.id)}.json`, `${JSON.stringify(note, undefined, 2)}\n`),
    printProof: ({ jobId, layer, drawing }) =>
      writeWhole("hot-folder", `${nameOf(jobId)}-${layer}-${randomUUID()}.svg`, drawing),
    async announce({ jobId, text }) {
      await mkdir(directory, { recursive: true });
      await appendFile(join(directory, "announcements.jsonl"), `${JSON.stringify({ jobId, text })}\n`);
    },
  };
}

/** A file name for ids, which may hold any characters. */
function nameOf(...ids: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(ids)).digest("hex").slice(0, 32);
}
