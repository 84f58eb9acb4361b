import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type JobReadableArtifact, verifyContent } from "../../job-provider/index.ts";
import { rootedPathProblem } from "../../job-provider/tree/rooted-path.ts";
import { CommandFailure } from "../app-command/command-failure.ts";

/** Where artifacts go. */
export interface ArtifactDownload {
  /** A folder that is empty or does not exist: nothing is ever replaced. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/**
 * Writes artifacts to a folder, each under its path. A file has its name only once all its bytes have been written and compared with the
 * digest under which they were published.
 *
 * @throws CommandFailure `folder-not-empty`, or `artifact-path` before anything is written; JobContentMismatch when a store has other bytes
 */
export async function downloadArtifacts(
  artifacts: readonly JobReadableArtifact[],
  { folder, signal }: ArtifactDownload,
): Promise<void> {
  const root = resolve(folder);
  expectDistinctPaths(artifacts);
  await mkdir(root, { recursive: true }).catch(notEmpty);
  if ((await readdir(root)).length > 0) notEmpty();
  for (const artifact of artifacts) {
    signal.throwIfAborted();
    await writeVerified(artifact, root, signal);
  }
}

async function writeVerified(
  artifact: JobReadableArtifact,
  root: string,
  signal: AbortSignal,
): Promise<void> {
  const target = join(root, artifact.path);
  const beside = join(root, `.incoming-${randomUUID()}`);
  await mkdir(dirname(target), { recursive: true });
  try {
    await using file = await open(beside, "wx");
    for await (const chunk of verifyContent(artifact.read({ signal }), artifact)) {
      signal.throwIfAborted();
      await file.writeFile(chunk);
    }
    await file.sync();
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  await rename(beside, target);
}

/** A provider chooses the paths: none may lead out of the folder, and no two to one file. */
function expectDistinctPaths(artifacts: readonly JobReadableArtifact[]): void {
  const paths = new Set<string>();
  for (const { path } of artifacts) {
    if (rootedPathProblem(`/${path}`) !== undefined || path.startsWith(".incoming-"))
      throw new CommandFailure(
        1,
        "artifact-path",
        "an artifact has a path that no file of the folder can have",
      );
    if (paths.has(path))
      throw new CommandFailure(
        1,
        "artifact-path",
        "two roles published the same path: download one with --role",
      );
    paths.add(path);
  }
}

function notEmpty(): never {
  throw new CommandFailure(2, "folder-not-empty", "--to: expected a folder that is empty or does not exist");
}
