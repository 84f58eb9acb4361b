import { setTimeout as sleep } from "node:timers/promises";
import type { JsonValue } from "../../../capability/index.ts";
import { databaseFailure } from "../../../plugin/store/database-failure.ts";
import { backoffMs } from "../../../tasks/worker/backoff.ts";
import { startHeartbeat } from "../../../tasks/worker/heartbeat.ts";
import { Lease } from "../../../tasks/worker/lease.ts";
import { processTime } from "../../../tasks/worker/time.ts";
import type { JobSnapshot } from "../../lifecycle/job-snapshot.ts";
import type { AnyJobCommand } from "../../provider/define-job-provider.ts";
import type { JobReadableArtifact } from "../../provider/job-artifact.ts";
import type { HostParts } from "../host-parts.ts";
import { abandonCommandIfHeld } from "../records/abandon-commands.ts";
import { commandLeaseSeconds } from "../records/begin-command.ts";
import { type CommandEnd, endCommandIfHeld } from "../records/end-command.ts";
import { type CommandRun, holdCommand } from "../records/hold-command.ts";
import { readCommand } from "../records/read-command.ts";
import { type JobCallOutcome, refuseCall } from "./job-call-outcome.ts";
import { recordedOutcome } from "./recorded-outcome.ts";
import { type ExtensionOutcome, runExtension } from "./run-extension.ts";

/** A command whose record is ours. */
export interface HeldCommand {
  readonly run: CommandRun;
  /** `performance.now()` from before the record was written: the lease is reckoned from there. */
  readonly sentAt: number;
  readonly command: AnyJobCommand;
  readonly input: JsonValue;
  readonly snapshot: JobSnapshot;
  readonly artifacts: readonly JobReadableArtifact[];
  readonly signal: AbortSignal;
}

const leaseMs = commandLeaseSeconds * 1000;

/**
 * Runs a command while its record is kept ours, and records how it ended. Its signal also aborts once the record may be somebody else's; what
 * it answers then counts for nothing, and the outcome is unknown. So it is when a command that was asked to end has no result: it may have
 * broken off in the middle of its effect.
 */
export async function runHeldCommand(host: HostParts, held: HeldCommand): Promise<JobCallOutcome> {
  const { run, command, input, snapshot, artifacts } = held;
  const lease = new Lease(processTime, held.sentAt, leaseMs);
  const lost = new AbortController();
  const heartbeat = startHeartbeat(
    processTime,
    () => leaseMs / 3,
    async () => {
      const sentAt = performance.now();
      const isHeld = await holdCommand(host.records, run);
      if (isHeld) lease.prolong(sentAt, leaseMs);
      else lost.abort(new Error("the command's record is no longer held by this process"));
      return isHeld;
    },
  );
  const callOffFence = fenceBy(lease, lost);
  try {
    const signal = AbortSignal.any([held.signal, lost.signal]);
    const { commandId } = run;
    const call = { snapshot, input, artifacts, signal, commandId };
    const outcome = await runExtension(host, command, call);
    const end = endOf(outcome, signal);
    return await recordEnd(host, { run, end, lease });
  } finally {
    callOffFence();
    await heartbeat.stop();
  }
}

function endOf(outcome: ExtensionOutcome, { aborted }: AbortSignal): CommandEnd | undefined {
  if (outcome.ok) return { state: "done", result: JSON.stringify(outcome.value) };
  return aborted ? undefined : { state: "failed", code: outcome.code };
}

/** Aborts when the lease can no longer be proven by this process's own clock. Returns what calls it off. */
function fenceBy(lease: Lease, lost: AbortController): () => void {
  let callOff = (): void => undefined;
  const arm = (): void => {
    if (lease.isSafe) callOff = processTime.after(lease.remainingMs, arm);
    else lost.abort(new Error("the command's lease could not be prolonged in time"));
  };
  arm();
  return () => callOff();
}

/** Records the end as long as the lease lasts, or that nobody knows it: what is recorded is what counts. */
async function recordEnd(
  { records, trouble }: HostParts,
  ended: { readonly run: CommandRun; readonly end: CommandEnd | undefined; readonly lease: Lease },
): Promise<JobCallOutcome> {
  const { run, end, lease } = ended;
  for (let failures = 1; lease.isSafe; failures += 1) {
    try {
      if (end === undefined) await abandonCommandIfHeld(records, run);
      else await endCommandIfHeld(records, run, end);
      const stored = await readCommand(records, run.job, run.commandId);
      trouble.ends("command");
      const isOurs = stored?.runner === run.runner && stored.end.state !== "running";
      const outcome = stored && isOurs ? recordedOutcome(stored) : undefined;
      return outcome ?? refuseCall("COMMAND_OUTCOME_UNKNOWN");
    } catch (error) {
      if (databaseFailure(error).kind !== "unavailable") throw error;
      trouble.begins("command", error);
    }
    await sleep(Math.min(backoffMs(failures, { capMs: 2000 }), lease.remainingMs));
  }
  return refuseCall("COMMAND_OUTCOME_UNKNOWN");
}
