import type { Stats } from "node:fs";

/** What an entry of a folder is. */
export type FileKind = "a file" | "a folder" | "a symbolic link" | "a named pipe" | "a socket" | "a device";

/** Says what an entry is, from an `lstat` of it. */
export function kindOf(stats: Stats): FileKind {
  if (stats.isFile()) return "a file";
  if (stats.isDirectory()) return "a folder";
  if (stats.isSymbolicLink()) return "a symbolic link";
  if (stats.isFIFO()) return "a named pipe";
  return stats.isSocket() ? "a socket" : "a device";
}
