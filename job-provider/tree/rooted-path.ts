/** Longest path, in UTF-16 code units. */
export const PATH_LENGTH_LIMIT = 4096;

/**
 * What is wrong with a path that should be rooted and literal, or undefined when nothing is. Such a path names one file of a tree in one
 * way: it starts at the tree's root with `/`, and has no empty, `.` or `..` segment, no backslash, no glob (`* ? [ ]`), no drive or URL
 * scheme in front, no control character.
 */
export function rootedPathProblem(path: unknown): string | undefined {
  if (typeof path !== "string") return "expected a text";
  if (path.length === 0 || path.length > PATH_LENGTH_LIMIT)
    return `expected 1..${PATH_LENGTH_LIMIT} characters, got ${path.length}`;
  if (!path.isWellFormed()) return "a lone surrogate";
  return rules.find(({ broken }) => broken.test(path))?.problem;
}

const rules: readonly { readonly broken: RegExp; readonly problem: string }[] = [
  { broken: /\p{Cc}/u, problem: "a control character in a path" },
  { broken: /[*?[\]]/, problem: "a glob where a literal path is expected" },
  { broken: /^\/*[A-Za-z][A-Za-z0-9+.-]*:/, problem: "a path that begins with a drive or a URL scheme" },
  { broken: /\\/, problem: "a backslash in a path: segments are separated by /" },
  { broken: /^[^/]/, problem: "a path that does not start at the root: write /name" },
  { broken: /\/(\/|$)/, problem: "an empty segment in a path" },
  { broken: /\/\.\.?(\/|$)/, problem: "a segment . or .. in a path" },
];
