import { randomUUID } from "node:crypto";
import { constants as flags } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { JobRevisionFile } from "../ports/job-revision-store.ts";
import type { JobWorkspace, JobWorkspaceFile } from "../provider/job-workspace.ts";
import { type AnchoredFolder, asRoot, openFolderIn, shown, withFolderBelow } from "./anchored-folder.ts";
import { describeContent } from "./describe-content.ts";
import { fileChunks } from "./file-chunks.ts";
import { JobFileError, quotePath, withFileErrors } from "./job-file-error.ts";
import { openRegularFile, refuseOther } from "./open-regular-file.ts";
import { removeTree } from "./remove-tree.ts";
import { statIfThere, walkFiles } from "./walk-files.ts";
import { workspacePath } from "./workspace-path.ts";
import { writeChunks } from "./write-chunks.ts";

/** The two folders in an attempt's directory: what the provider sees, and what is being written. */
export const workspaceFolders = ["files", "drafts"] as const;

/** The files of an attempt, for the provider and for the host. */
export interface WorkspaceFiles extends Omit<JobWorkspace, "path"> {
  /** A file as something to be published or sealed: length and digest, computed now, and the bytes, read again from the file. */
  readonly source: (path: string) => Promise<JobRevisionFile>;
}

/**
 * The files of an attempt in its directory.
 *
 * @param assertLive is called before each change, and again right before a file gets its name; what it throws refuses the change
 * @param signal ends what is under way
 */
export function workspaceFiles(
  home: AnchoredFolder,
  assertLive: () => void,
  signal: AbortSignal,
): WorkspaceFiles {
  const [filesName, draftsName] = workspaceFolders;
  const below = async <T>(
    folders: readonly string[],
    use: (folder: AnchoredFolder) => Promise<T>,
    make?: "make",
  ): Promise<T> => {
    signal.throwIfAborted();
    await using root = await openFolderIn(home, filesName);
    return await withFolderBelow(asRoot(root), folders, use, make === "make");
  };
  const opened = (path: string): Promise<FileHandle> => {
    const [folders, name] = splitPath(path);
    return below(folders, (folder) => openRegularFile(folder, name, "one"));
  };
  const chunksOf = (path: string) => fileChunks(`the file ${quotePath(path)}`, () => opened(path), signal);

  return {
    async read(path) {
      await using handle = await opened(path);
      return await withFileErrors(`the file ${quotePath(path)} cannot be read`, () => handle.readFile());
    },
    stream: (path) => chunksOf(path),
    async stat(path) {
      const [folders, name] = splitPath(path);
      const look = (folder: AnchoredFolder) => fileIfThere(folder, name, path);
      return below(folders, look).catch(undefinedWhenMissing);
    },
    async list(folder) {
      const names = folder === undefined ? [] : workspacePath(folder);
      const found: JobWorkspaceFile[] = [];
      await below([], async (root) => {
        for (const { path, stats } of await walkFiles(root, names)) {
          if (!stats.isFile()) continue;
          workspacePath(path);
          found.push({ path, length: stats.size });
        }
      });
      return found.sort((a, b) => (a.path < b.path ? -1 : 1));
    },
    async write(path, content) {
      const [folders, name] = splitPath(path);
      assertLive();
      await using drafts = await openFolderIn(home, draftsName);
      const draft = randomUUID();
      const nameDraft = async (folder: AnchoredFolder): Promise<void> => {
        await refuseReplacing(folder, name, path);
        assertLive();
        await withFileErrors(`${quotePath(path)} cannot be written`, () =>
          rename(drafts.at(draft), folder.at(name)),
        );
      };
      try {
        await writeDraft(drafts, draft, path, content, signal);
        assertLive(); // before folders are made
        await below(folders, nameDraft, "make");
      } catch (error) {
        await removeTree(drafts, draft).catch(() => {}); // closing the workspace removes it in any case
        throw error;
      }
    },
    async makeFolder(path) {
      const names = workspacePath(path);
      assertLive();
      await below(names, async () => {}, "make");
    },
    async remove(path) {
      const [folders, name] = splitPath(path);
      assertLive();
      await below(folders, (folder) => removeTree(folder, name)).catch(undefinedWhenMissing);
    },
    async source(path) {
      const content = await describeContent(chunksOf(path));
      return { path: `/${path}`, ...content, open: () => chunksOf(path) };
    },
  };
}

/** Also for a file where a folder is expected: there is nothing below it. */
function undefinedWhenMissing(error: unknown): undefined {
  if (error instanceof JobFileError && (error.code === "not_found" || error.code === "not_a_folder"))
    return undefined;
  throw error;
}

function splitPath(path: string): readonly [folders: readonly string[], name: string] {
  const names = workspacePath(path);
  return [names.slice(0, -1), names.at(-1) as string];
}

async function fileIfThere(
  folder: AnchoredFolder,
  name: string,
  path: string,
): Promise<JobWorkspaceFile | undefined> {
  const stats = await statIfThere(folder, name);
  if (stats === undefined || stats.isDirectory()) return undefined;
  refuseOther(folder, join(folder.path, name), stats, "one");
  return { path, length: stats.size };
}

async function writeDraft(
  drafts: AnchoredFolder,
  draft: string,
  path: string,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const what = `${quotePath(path)} cannot be written`;
  await using handle = await withFileErrors(what, () => open(drafts.at(draft), writeFlags, 0o644));
  const chunks = typeof content === "object" && Symbol.asyncIterator in content ? content : once(content);
  await writeChunks(what, handle, chunks, signal);
}

async function* once(content: string | Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield typeof content === "string" ? Buffer.from(content) : content;
}

async function refuseReplacing(folder: AnchoredFolder, name: string, path: string): Promise<void> {
  const stats = await statIfThere(folder, name);
  if (stats === undefined) return;
  refuseOther(folder, join(folder.path, name), stats, "any"); // a rename replaces the name, and never writes into another one
  if ((stats.mode & 0o200) === 0)
    throw new JobFileError(
      "read_only",
      `${shown(folder, join(folder.path, name))} is read-only, as input files are: write ${quotePath(path)} under another name, or remove it first`,
    );
}

const writeFlags = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | flags.O_NOFOLLOW;
