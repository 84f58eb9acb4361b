import type { Trouble } from "../../../tasks/jobs/jobs-queue.ts";
import type { AttemptWorkspace } from "../../files/open-attempt-workspace.ts";
import type { JobArtifactStore } from "../../ports/job-artifact-store.ts";
import type { JobRevisionStore } from "../../ports/job-revision-store.ts";
import type { JobSession } from "../records/job-session.ts";
import type { Fence } from "../records/record-types.ts";
import type { AttemptGate } from "./attempt-gate.ts";

/** What the services of one attempt share. */
export interface AttemptDeps {
  readonly fence: Fence;
  readonly gate: AttemptGate;
  /** On connections that no user of the host can use up. */
  readonly records: JobSession;
  readonly revisions: JobRevisionStore;
  readonly artifacts: JobArtifactStore;
  readonly workspace: Pick<AttemptWorkspace, "files" | "source">;
  readonly trouble: Trouble;
  /** Most lines of a job's log. */
  readonly logLimit: number;
  /** Artifacts and checkpoints are recorded one after the other, so that each knows what came before it. */
  readonly inOrder: <T>(work: () => Promise<T>) => Promise<T>;
}
