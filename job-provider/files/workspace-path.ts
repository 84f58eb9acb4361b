import { Buffer } from "node:buffer";
import { NAME_BYTES_LIMIT } from "../tree/layout-problems.ts";
import { PATH_LENGTH_LIMIT } from "../tree/rooted-path.ts";
import { JobFileError, quotePath } from "./job-file-error.ts";

/**
 * The names of a path of a workspace. Such a path is relative, `mesh/case.json`, and names one file in one way: no empty, `.` or `..` name, no
 * backslash, no control character; 1..4095 UTF-16 code units, each name up to 255 bytes. Upper and lower case are told apart as far as the
 * file system does.
 *
 * @throws JobFileError `path_invalid` or `name_too_long`
 */
export function workspacePath(path: string): readonly string[] {
  const problem = problemOf(path);
  if (problem !== undefined)
    throw new JobFileError(
      "path_invalid",
      `${quotePath(String(path))} is no path of a workspace: ${problem}`,
    );
  const names = path.split("/");
  const long = names.find((name) => Buffer.byteLength(name) > NAME_BYTES_LIMIT);
  if (long === undefined) return names;
  throw new JobFileError(
    "name_too_long",
    `${quotePath(long)} has ${Buffer.byteLength(long)} bytes: a name has at most ${NAME_BYTES_LIMIT}, shorten it`,
  );
}

function problemOf(path: unknown): string | undefined {
  if (typeof path !== "string") return "expected a text";
  if (path.length === 0 || path.length >= PATH_LENGTH_LIMIT)
    return `expected 1..${PATH_LENGTH_LIMIT - 1} characters, got ${path.length}`;
  if (!path.isWellFormed()) return "a lone surrogate";
  return rules.find(({ broken }) => broken.test(path))?.problem;
}

const rules: readonly { readonly broken: RegExp; readonly problem: string }[] = [
  { broken: /\p{Cc}/u, problem: "a control character" },
  { broken: /\\/, problem: "a backslash, where names are separated by /" },
  { broken: /^\//, problem: "an absolute path, where one from the workspace's root is expected" },
  { broken: /(^|\/)(\/|$)/, problem: "an empty name" },
  { broken: /(^|\/)\.\.?(\/|$)/, problem: "a name . or .." },
];
