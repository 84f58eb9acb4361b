import { constants as flags } from "node:fs";
import { lstat, lutimes, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDigest } from "../canonical/digest.ts";
import type { JobArtifactStore } from "../ports/job-artifact-store.ts";
import { type JobContent, JobContentMismatch, verifyContent } from "../ports/job-content.ts";
import { fileChunks } from "./file-chunks.ts";
import { kindOf } from "./file-kind.ts";
import { JobFileError, systemCodeOf, withFileErrors } from "./job-file-error.ts";
import { type OnWriteStep, syncFolders, writeBeside } from "./write-beside.ts";

/** Files by their digest: `sha256/ab/cdef…` in a directory. */
export interface ContentStore extends JobArtifactStore {
  /** As `put`, but its name survives a power failure only after `syncFolders` from the folder that it returns. */
  readonly keep: (...call: Parameters<JobArtifactStore["put"]>) => Promise<string>;
}

/**
 * Keeps content in a directory; what `createFileArtifactStore` says holds of it.
 *
 * @param directory absolute; made with the first content
 */
export function createContentStore(directory: string, onStep: OnWriteStep = () => {}): ContentStore {
  const store: ContentStore = {
    async keep(content, open, { signal } = {}) {
      const path = pathOf(directory, content);
      if (!((await store.has(content, signal && { signal })) && (await renewAge(path, content)))) {
        const what = `the content ${content.digest} is not kept`;
        await writeBeside({ directory, path, what }, verifyContent(open(), content), signal, onStep);
      }
      return dirname(path);
    },
    async put(content, open, options) {
      const folder = await store.keep(content, open, options);
      await syncFolders(directory, folder, `the content ${content.digest} may not be kept`);
      await onStep("kept");
    },
    async read(content, { signal } = {}) {
      signal?.throwIfAborted();
      if ((await lengthAt(directory, content)) === undefined) return undefined;
      return verifyContent(chunksAt(directory, content, signal), content);
    },
    async has(content, { signal } = {}) {
      signal?.throwIfAborted();
      if ((await lengthAt(directory, content)) !== content.length) return false;
      try {
        for await (const chunk of verifyContent(chunksAt(directory, content, signal), content)) void chunk;
        return true;
      } catch (error) {
        if (error instanceof JobContentMismatch) return false;
        throw error;
      }
    },
  };
  return store;
}

/** Makes what is there as young as what is written now, for whoever removes by age. False when it has gone since. */
async function renewAge(path: string, { digest }: JobContent): Promise<boolean> {
  return withFileErrors(`the content ${digest} is not kept`, async () => {
    const now = new Date();
    try {
      await lutimes(path, now, now);
      return true;
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return false;
      throw error;
    }
  });
}

function pathOf(directory: string, { length, digest }: JobContent): string {
  if (!isDigest(digest)) throw new TypeError("digest: expected sha256: and 64 lowercase hexadecimal digits");
  if (!Number.isSafeInteger(length) || length < 0)
    throw new TypeError(`length: expected a number of bytes, got ${length}`);
  const hex = digest.slice("sha256:".length);
  return join(directory, "sha256", hex.slice(0, 2), hex.slice(2));
}

/** The length of what is there, undefined when nothing is. */
async function lengthAt(directory: string, content: JobContent): Promise<number | undefined> {
  const path = pathOf(directory, content);
  return withFileErrors(`the content ${content.digest} cannot be looked up`, async () => {
    try {
      const stats = await lstat(path);
      if (stats.isFile()) return stats.size;
      throw new JobFileError(
        "not_a_file",
        `the content ${content.digest} is ${kindOf(stats)} in the store: expected a file, take it away`,
      );
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  });
}

function chunksAt(
  directory: string,
  content: JobContent,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const what = `the content ${content.digest}`;
  const path = pathOf(directory, content);
  const openIt = () => withFileErrors(`${what} cannot be read`, () => open(path, readFlags));
  return fileChunks(what, openIt, signal);
}

const readFlags = flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK;
