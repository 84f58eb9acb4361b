import { instantText } from "../../../tasks/jobs/records/record-session.ts";
import type { JobLifecycleState } from "../../lifecycle/job-lifecycle.ts";
import type { JobProgressUpdate } from "../../provider/attempt-services.ts";
import type { JobSession } from "./job-session.ts";
import type { JobProgress } from "./read-progress.ts";
import { fromJson, type JobReasonCode } from "./record-types.ts";

/** Where a job stands, for whoever wonders why it does not move. Times are RFC 3339, UTC, of the database's clock. Frozen. */
export interface JobInspection {
  readonly state: JobLifecycleState;
  readonly revision: number;
  /** Why it failed or asks for attention; null otherwise. */
  readonly code: JobReasonCode | null;
  readonly acceptedAt: string;
  readonly finishedAt: string | null;
  /** Whether the host that was asked runs the job's provider. A worker without it hands the job back, and it stays queued. */
  readonly isProviderHosted: boolean;
  /** Whether its dispatch is known to be in the queue; one that is not is enqueued by the sweep of a process with a worker. */
  readonly isDispatched: boolean;
  /** No attempt begins before. It may lie in the past. */
  readonly notBefore: string;
  /** Until when the running attempt holds the job, unless it renews; null while none runs. */
  readonly leaseUntil: string | null;
  /** Attempts that count, the running one included, of `maxAttempts`. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** How many attempts in a row ended without having called `execute`. */
  readonly attemptsNotEntered: number;
  /** The latest, null before the first. */
  readonly progress: JobProgress | null;
}

/** Undefined when there is no such job. */
export async function inspectJob(
  session: JobSession,
  id: string,
  providers: ReadonlyMap<string, unknown>,
): Promise<JobInspection | undefined> {
  const text = `select state, revision, code, provider_id as provider, job_id is not null as dispatched, attempts, max_attempts,
      unentered, progress::text as progress, ${instantText("progress_at")} as progress_at, ${instantText("accepted_at")} as accepted,
      ${instantText("finished_at")} as finished, ${instantText("run_at")} as run_at, ${instantText("lease_until")} as lease
    from ${session.table("job")} where host_id = $1::text and id = $2::text::uuid`;
  const [row] = await session.query(text, [session.hostId, id]);
  if (row === undefined) return undefined;
  const update = row["progress"] as string | null;
  return Object.freeze({
    state: row["state"] as JobLifecycleState,
    revision: row["revision"] as number,
    code: row["code"] as JobReasonCode | null,
    acceptedAt: row["accepted"] as string,
    finishedAt: row["finished"] as string | null,
    isProviderHosted: providers.has(fromJson(row["provider"])),
    isDispatched: row["dispatched"] as boolean,
    notBefore: row["run_at"] as string,
    leaseUntil: row["lease"] as string | null,
    attempts: row["attempts"] as number,
    maxAttempts: row["max_attempts"] as number,
    attemptsNotEntered: row["unentered"] as number,
    progress:
      update === null
        ? null
        : Object.freeze({
            update: Object.freeze(JSON.parse(update) as JobProgressUpdate),
            at: row["progress_at"] as string,
          }),
  });
}
