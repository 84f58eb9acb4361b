import { sweepAttemptWorkspaces } from "../../files/sweep-attempt-workspaces.ts";
import type { HostParts } from "../host-parts.ts";
import { runningAttempts } from "./records/running-attempts.ts";

/** Removes the workspaces of this host, a day old or older, of attempts whose process died. Trouble is told: the next worker that starts tries again. */
export async function sweepWorkspaces(
  parts: Pick<HostParts, "hostId" | "attemptRecords" | "workspaces" | "trouble">,
): Promise<void> {
  const { hostId, attemptRecords, workspaces, trouble } = parts;
  try {
    const directory = await workspaces();
    const running = await runningAttempts(attemptRecords);
    const keep = running.map(({ jobId, attemptId }) => ({ job: { hostId, jobId }, attemptId }));
    await sweepAttemptWorkspaces({ directory, keep });
    trouble.ends("workspaces");
  } catch (error) {
    trouble.begins("workspaces", error);
  }
}
