import { mkdir } from "node:fs/promises";
import type { JobWorkspace } from "../../provider/job-workspace.ts";
import { digestWith } from "../../testing/valid-submission.ts";
import type { FolderAnchor } from "../anchored-folder.ts";
import { createFileRevisionStore, type FileRevisionStore } from "../create-file-revision-store.ts";
import {
  type AttemptWorkspace,
  type OpenAttemptWorkspaceOptions,
  openWorkspaceBy,
} from "../open-attempt-workspace.ts";
import { filesOf } from "./content-of.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

/** Both ways of looking names up; the first one only where there is `/proc`. */
export const anchors: readonly FolderAnchor[] =
  process.platform === "linux" ? ["descriptor", "path"] : ["path"];

/** Where the workspace of a test lies, and what it starts with. */
export interface WorkspaceChanges
  extends Partial<Pick<OpenAttemptWorkspaceOptions, "assertLive" | "job" | "attemptId" | "signal">> {
  readonly anchor?: FolderAnchor;
  /** Files of the input by path, all of them selected. */
  readonly input?: Readonly<Record<string, string>>;
  readonly select?: readonly string[];
  readonly checkpoint?: Readonly<Record<string, string>>;
}

/** The scene of a test. Disposing of it closes the workspace and removes everything. */
export interface GivenWorkspace extends AsyncDisposable {
  readonly folder: TemporaryFolder;
  readonly revisions: FileRevisionStore;
  readonly options: OpenAttemptWorkspaceOptions;
  readonly attempt: AttemptWorkspace;
  readonly files: JobWorkspace;
  /** A path in the workspace, for programs that do not go through it. */
  readonly inside: (path: string) => string;
}

/** An open workspace, and a folder outside of it with a file in it. */
export async function givenWorkspace({
  anchor,
  input = {},
  select,
  checkpoint,
  ...changes
}: WorkspaceChanges = {}): Promise<GivenWorkspace> {
  const folder = await temporaryFolder();
  await mkdir(folder.at("attempts"));
  await mkdir(folder.at("outside"));
  await Bun.write(folder.at("outside", "secret"), "not yours");
  const revisions = createFileRevisionStore({ directory: folder.at("revisions"), authorityId: "acme" });
  const seal = (tree: Readonly<Record<string, string>>) =>
    revisions.seal({ workspaceId: "bridge", files: filesOf(tree) });
  const options: OpenAttemptWorkspaceOptions = {
    directory: folder.at("attempts"),
    job: { hostId: "host", jobId: "job" },
    attemptId: "1",
    revisions,
    input: {
      revision: Object.keys(input).length > 0 ? await seal(input) : neverRead,
      paths: select ?? Object.keys(input),
    },
    ...(checkpoint && { checkpoint: await seal(checkpoint) }),
    ...changes,
  };
  const attempt = await openWorkspaceBy(anchor, options);
  return {
    folder,
    revisions,
    options,
    attempt,
    files: attempt.files,
    inside: (path: string) => `${attempt.files.path}/${path}`,
    async [Symbol.asyncDispose]() {
      await attempt.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Of an input without paths nothing is looked up. */
const neverRead = {
  authorityId: "acme",
  workspaceId: "bridge",
  revisionId: "none",
  treeDigest: digestWith("0"),
};
