import { type PathTokens, shownPlace } from "../../canonical/pointer-text.ts";
import { JobFileError, type JobFileErrorCode } from "../../files/job-file-error.ts";
import type { JobRevisionFile } from "../../ports/job-revision-store.ts";
import type { AttemptDeps } from "./attempt-deps.ts";

/** What is wrong with a path that the provider gave, rather than with the file system. */
const wrongPaths: readonly JobFileErrorCode[] = [
  "path_invalid",
  "path_outside",
  "not_found",
  "not_a_file",
  "not_a_folder",
  "name_too_long",
];

/** A file of the workspace that is to be published. @throws TypeError naming the place, for a path that is no file of the workspace */
export async function openSource(
  { workspace }: Pick<AttemptDeps, "workspace">,
  path: string,
  at: PathTokens,
): Promise<JobRevisionFile> {
  try {
    return await workspace.source(path);
  } catch (error) {
    if (error instanceof JobFileError && wrongPaths.includes(error.code))
      throw new TypeError(`${shownPlace(at)}: ${error.message}`, { cause: error });
    throw error;
  }
}
