/** Longest name of a file or folder, in bytes of its UTF-8: what common file systems take. */
export const NAME_BYTES_LIMIT = 255;

/**
 * Which rooted paths cannot be files beside the others of the list, each with the reason: one that is a folder of another, or that has a name
 * of more than 255 bytes. Empty when all of them fit on a file system.
 */
export function layoutProblems(paths: readonly string[]): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  // With NUL, which no path has, in the place of /, what lies below a path comes right after it.
  const sorted = paths.map((path) => path.replaceAll("/", "\0")).sort();
  for (const [index, path] of sorted.entries()) {
    const problem = isLong(path)
      ? `a name of more than ${NAME_BYTES_LIMIT} bytes`
      : sorted[index + 1]?.startsWith(`${path}\0`) === true
        ? "a file where another path has a folder"
        : undefined;
    if (problem !== undefined) problems.set(path.replaceAll("\0", "/"), problem);
  }
  return problems;
}

/** A path that is short as a whole has no long name: most of them. */
function isLong(path: string): boolean {
  return (
    path.length * 3 > NAME_BYTES_LIMIT && path.split("\0").some((name) => bytesOf(name) > NAME_BYTES_LIMIT)
  );
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).byteLength;
}
