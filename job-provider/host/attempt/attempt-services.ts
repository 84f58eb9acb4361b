import type { JobAttemptServices, JobCheckpointService } from "../../provider/attempt-services.ts";
import type { HostedProvider } from "../host-parts.ts";
import type { AttemptDeps } from "./attempt-deps.ts";
import { createArtifactPublisher } from "./publish-artifact.ts";
import { createCheckpointPublisher } from "./publish-checkpoint.ts";
import { attemptText } from "./records/fence-guard.ts";
import type { AdmittedCheckpoint } from "./records/read-checkpoints.ts";
import { createProgressReporter } from "./report-progress.ts";
import { createLogWriter, type LogWriter } from "./write-log.ts";

/** What a provider gets, and the end of it. */
export interface OpenServices {
  readonly services: JobAttemptServices & Partial<JobCheckpointService>;
  /** A line of the host's own in the job's log, also after the end. @throws JobAttemptOver */
  readonly say: LogWriter["say"];
  /** Takes no further call, waits for those under way, and writes what still waits to be written. Never rejects. */
  end(): Promise<void>;
}

/** The services of one attempt, each behind its gate. */
export function openAttemptServices(
  deps: AttemptDeps,
  { descriptor, runnable }: HostedProvider,
  attempt: { readonly signal: AbortSignal; readonly resumedFrom: AdmittedCheckpoint | undefined },
): OpenServices {
  const { fence, gate, records, workspace } = deps;
  const progress = createProgressReporter(deps);
  const log = createLogWriter(deps);
  const { recovery } = runnable;
  const services = Object.freeze({
    job: Object.freeze({ hostId: records.hostId, jobId: fence.id }),
    attemptId: attemptText(fence),
    signal: attempt.signal,
    workspace: workspace.files,
    reportProgress: progress.reportProgress,
    writeLog: log.writeLog,
    publishArtifact: createArtifactPublisher(deps, descriptor.artifacts),
    ...(recovery.mode === "checkpoint"
      ? { publishCheckpoint: createCheckpointPublisher(deps, recovery, attempt.resumedFrom) }
      : {}),
  });
  return {
    services,
    say: log.say,
    async end() {
      await gate.end();
      await Promise.all([progress.flush(), log.flush()]);
    },
  };
}
