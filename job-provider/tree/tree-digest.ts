import { digestJson, isDigest } from "../canonical/digest.ts";
import { refuse } from "../canonical/pointer-text.ts";
import { rootedPathProblem } from "./rooted-path.ts";

/** A file of a tree, by its content. */
export interface JobTreeEntry {
  /** Rooted literal path, as in `input.paths`: `/mesh/case.json`. */
  readonly path: string;
  /** Bytes, a safe integer from 0. */
  readonly length: number;
  /** `sha256:` and 64 hexadecimal digits, of the bytes. */
  readonly digest: string;
}

/**
 * The digest of a tree of files: of the list of `[path, length, digest]`, sorted by path (UTF-16 code units), as canonical JSON. The order
 * of the entries does not matter.
 *
 * @throws TypeError for a path that is not rooted and literal or stands twice, a length or a digest that cannot be one
 */
export function treeDigest(entries: Iterable<JobTreeEntry>): string {
  const files = new Map<string, readonly [string, number, string]>();
  for (const { path, length, digest } of entries) {
    const at = [String(files.size)];
    const problem = rootedPathProblem(path);
    if (problem !== undefined) return refuse([...at, "path"], problem);
    if (files.has(path)) return refuse([...at, "path"], "the same path stands twice");
    if (!Number.isSafeInteger(length) || length < 0 || Object.is(length, -0))
      return refuse([...at, "length"], "expected a number of bytes");
    if (!isDigest(digest)) return refuse([...at, "digest"], "expected sha256: and 64 hexadecimal digits");
    files.set(path, [path, length, digest]);
  }
  const sorted = [...files.keys()].sort();
  return digestJson(sorted.map((path) => files.get(path)));
}
