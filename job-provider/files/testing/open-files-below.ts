import { readdir, readlink } from "node:fs/promises";

/**
 * What this process holds open below a folder, by path; nothing where the system does not tell (no `/proc`). Only that folder is looked at: other
 * descriptors of the process come and go whenever the collector or a server of the run pleases.
 */
export async function openFilesBelow(folder: string): Promise<string[]> {
  const descriptors = await readdir("/proc/self/fd").catch(() => []);
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
  return targets.filter((target) => target.startsWith(`${folder}/`)).sort();
}
