import type { JobTreeEntry } from "../tree/tree-digest.ts";

/**
 * The input files that can stand beside the files of a checkpoint: whoever made it had replaced the others, or had removed them for a folder of
 * the same name, or for a file in the place of their folder.
 */
export function inputsBeside(
  checkpoint: readonly JobTreeEntry[],
  inputs: readonly JobTreeEntry[],
): readonly JobTreeEntry[] {
  // With NUL, which no path has, in the place of /, what lies below a path comes right after it.
  const keyOf = ({ path }: JobTreeEntry): string => path.replaceAll("/", "\0");
  const own = new Set(checkpoint.map(keyOf));
  const given = new Set(inputs.map(keyOf).filter((key) => !own.has(key)));
  /** The paths that are folders of the present one. */
  let above: string[] = [];
  for (const key of [...own, ...given].sort()) {
    above = above.filter((folder) => key.startsWith(`${folder}\0`));
    if (!own.has(key)) {
      if (above.some((folder) => own.has(folder))) given.delete(key);
    } else for (const folder of above) given.delete(folder);
    above.push(key);
  }
  return inputs.filter((entry) => given.has(keyOf(entry)));
}
