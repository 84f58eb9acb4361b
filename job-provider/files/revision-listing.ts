import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as v from "valibot";
import { canonicalJson } from "../canonical/canonical-json.ts";
import { type JobTreeEntry, treeDigest } from "../tree/tree-digest.ts";
import { JobFileError, quotePath, systemCodeOf, withFileErrors } from "./job-file-error.ts";
import { type OnWriteStep, syncFolders, writeBeside } from "./write-beside.ts";

/** The list of a revision's files, undefined when there is none. @throws JobFileError `damaged` when it is no list */
export async function readListing(path: string): Promise<readonly JobTreeEntry[] | undefined> {
  const text = await withFileErrors(`the revision's list ${quotePath(path)} cannot be read`, async () => {
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  });
  if (text === undefined) return undefined;
  try {
    const entries = v.parse(Listing, JSON.parse(text));
    treeDigest(entries); // refuses paths and lengths that no seal takes
    return Object.freeze(entries.map((entry) => Object.freeze(entry)));
  } catch (cause) {
    throw new JobFileError(
      "damaged",
      `the revision's list ${quotePath(path)} is not what was written: seal the tree again, or restore it`,
      { cause },
    );
  }
}

/** A list that becomes visible, and its revision with it. */
export interface ListingToWrite {
  /** The store's. */
  readonly directory: string;
  readonly path: string;
  readonly files: readonly JobTreeEntry[];
  readonly onStep: OnWriteStep;
  readonly signal: AbortSignal | undefined;
}

/** Writes the list of a revision, whole and so that it lasts. Replaces the same list. @throws JobFileError */
export async function writeListing({
  directory,
  path,
  files,
  onStep,
  signal,
}: ListingToWrite): Promise<void> {
  const what = "the revision is not sealed";
  const entries = files.map(({ path, length, digest }) => ({ path, length, digest }));
  await writeBeside({ directory, path, what }, textOf(entries), signal, onStep);
  await syncFolders(directory, dirname(path), what);
  await onStep("kept");
}

const Listing = v.array(v.strictObject({ path: v.string(), length: v.number(), digest: v.string() }));

async function* textOf(entries: readonly JobTreeEntry[]): AsyncGenerator<Uint8Array, void, undefined> {
  const sorted = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  yield Buffer.from(canonicalJson(sorted));
}
