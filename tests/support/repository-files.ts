import { join } from "node:path";

export const root: string = join(import.meta.dir, "../..");

const notOurs = /(^|\/)(node_modules|\.git|\.cache|dist)\/|\.tgz$|\.tsbuildinfo$/;

/** The paths from the root of what belongs to the repository. Does without git, which may be missing or refuse to read. */
export function repositoryFiles(glob = "**/*"): string[] {
  return [...new Bun.Glob(glob).scanSync({ cwd: root, dot: true })]
    .filter((path) => !notOurs.test(path))
    .sort();
}

export async function readAll(paths: readonly string[]): Promise<Map<string, string>> {
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await Bun.file(join(root, path)).text()] as const)),
  );
}
