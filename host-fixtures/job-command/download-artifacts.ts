import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { workspacePath } from "../../job-provider/files/workspace-path.ts";
import { type JobReadableArtifact, verifyContent } from "../../job-provider/index.ts";
import { layoutProblems } from "../../job-provider/tree/layout-problems.ts";
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

/** A provider chooses the paths: none may lead out of the folder, no two to one file, and none through another's file. */
function expectDistinctPaths(artifacts: readonly JobReadableArtifact[]): void {
  const paths = artifacts.map(({ path }) => path);
  if (!paths.every(isPathOfFolder)) throw unfit("an artifact has a path that no file of the folder can have");
  if (new Set(paths).size < paths.length)
    throw unfit("two roles published the same path: download one with --role");
  if (layoutProblems(paths.map((path) => `/${path}`)).size > 0)
    throw unfit(
      "one artifact's path is a folder of another's: download one with --role, or read them one by one",
    );
}

/** Whatever a workspace takes was published from one. */
function isPathOfFolder(path: string): boolean {
  try {
    workspacePath(path);
  } catch {
    return false;
  }
  return !path.startsWith(".incoming-");
}

function unfit(message: string): CommandFailure {
  return new CommandFailure(1, "artifact-path", message);
}

function notEmpty(): never {
  throw new CommandFailure(2, "folder-not-empty", "--to: expected a folder that is empty or does not exist");
}
