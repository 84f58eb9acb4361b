import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonValue } from "../../../capability/index.ts";
import { canonicalJson } from "../../canonical/canonical-json.ts";
import { digestOf } from "../../canonical/digest.ts";
import { isTerminalJobState } from "../../lifecycle/job-lifecycle.ts";
import type { JobSnapshot } from "../../lifecycle/job-snapshot.ts";
import type { AnyJobCommand } from "../../provider/define-job-provider.ts";
import type { JobReadableArtifact } from "../../provider/job-artifact.ts";
import type { HostParts } from "../host-parts.ts";
import { readableArtifacts } from "../readable-artifacts.ts";
import { abandonCommands } from "../records/abandon-commands.ts";
import { beginCommand, type NewCommand } from "../records/begin-command.ts";
import { takeCommand } from "../records/hold-command.ts";
import { readCommand, type StoredCommand } from "../records/read-command.ts";
import { readJob } from "../records/read-job.ts";
import { type JobCallOutcome, type JobCallRefused, refuseCall } from "./job-call-outcome.ts";
import { recordedOutcome } from "./recorded-outcome.ts";
import { readGiven, validateExtensionInput } from "./run-extension.ts";
import { runHeldCommand } from "./run-held-command.ts";

/** What a command is asked with. */
export interface JobCommandRequest {
  /** The caller's name for this command of the job, 1..256 UTF-16 code units. The same id and value gives the recorded result. */
  readonly commandId: string;
  /** The revision that the caller has seen. Looked at when the command begins, and not when its result is asked for again. */
  readonly expectedRevision: number;
  /** JSON for the command's input schema. */
  readonly value: unknown;
  /**
   * Passed on to the command. One that has begun is recorded, however it ends: with its result if it has one, else as an unknown outcome, of
   * which its replay policy says what becomes.
   */
  readonly signal?: AbortSignal;
}

/** How often a command that another process runs is looked at, in ms. */
const lookMs = 100;

interface Asked extends Omit<JobCommandRequest, "signal"> {
  readonly name: string;
  readonly signal: AbortSignal;
}

/**
 * Runs a command of a job's provider under a record, or gives what was recorded under its id, whatever became of provider and schema since.
 * One that another process runs is waited for; of one whose runner died, the policy says what becomes.
 *
 * @throws the signal's reason, while the command has not begun here
 */
export async function commandJob(host: HostParts, id: string, asked: Asked): Promise<JobCallOutcome> {
  const { records } = host;
  const snapshot = await readJob(records, id);
  if (snapshot === undefined) return refuseCall("JOB_NOT_FOUND");
  const given = readGiven(asked.value);
  if (!given.ok) return given;
  const value = canonicalJson(given.value);
  const valueDigest = digestOf(value);
  const run = { job: id, commandId: asked.commandId, runner: randomUUID() };
  // Each round looks at the record, and begins, takes over, gives up or waits.
  for (let ready: ReadyCommand | JobCallRefused | undefined; ; ) {
    asked.signal.throwIfAborted();
    const stored = await readCommand(records, id, asked.commandId);
    if (stored !== undefined) {
      if (stored.name !== asked.name || stored.valueDigest !== valueDigest)
        return refuseCall("COMMAND_CONFLICT");
      const recorded = recordedOutcome(stored);
      if (recorded !== undefined) return recorded;
    }
    const isOurs = stored === undefined || isOpenAgain(stored);
    if (isOurs) {
      ready ??= await readyCommand(host, { ...asked, snapshot, given: given.value });
      if (!ready.ok) return ready;
      const sentAt = performance.now();
      const begun =
        stored === undefined
          ? await beginIfOpen(host, {
              ...asked,
              ...run,
              policy: ready.command.replayPolicy,
              value,
              valueDigest,
            })
          : await takeCommand(records, run);
      if (begun === true) return runHeldCommand(host, { ...ready, run, sentAt, signal: asked.signal });
      if (begun !== false) return begun;
      if (stored === undefined) continue; // somebody has begun it since the look
    } else if (stored.end.state === "running" && stored.end.isDead) {
      await abandonCommands(records);
    }
    await sleep(lookMs, undefined, { signal: asked.signal });
  }
}

/** Its runner is dead, and it may be run again. */
function isOpenAgain({ end }: StoredCommand): boolean {
  return end.state === "running" && end.isDead && end.isReplaySafe;
}

interface ReadyCommand {
  readonly ok: true;
  readonly snapshot: JobSnapshot;
  readonly command: AnyJobCommand;
  readonly artifacts: readonly JobReadableArtifact[];
  /** The schema's output. */
  readonly input: JsonValue;
}

/** What it takes to run it. */
async function readyCommand(
  host: HostParts,
  asked: { readonly name: string; readonly snapshot: JobSnapshot; readonly given: JsonValue },
): Promise<ReadyCommand | JobCallRefused> {
  const { snapshot } = asked;
  const provider = host.providers.get(snapshot.provider.id);
  if (provider === undefined) return refuseCall("PROVIDER_NOT_FOUND");
  const command = provider.runnable.commands.find(({ name }) => name === asked.name);
  if (command === undefined) return refuseCall("OPERATION_NOT_FOUND");
  const read = await validateExtensionInput(command, asked.given);
  if (!read.ok) return read;
  const artifacts = await readableArtifacts(host, snapshot.reference.jobId);
  return { ok: true, snapshot, command, artifacts, input: read.input };
}

/** Whether the command's record is made now, and ours; false when the id was taken meanwhile; or why it cannot be begun. */
async function beginIfOpen({ records }: HostParts, command: NewCommand): Promise<boolean | JobCallRefused> {
  const begun = await beginCommand(records, command);
  if (begun === undefined) return refuseCall("JOB_NOT_FOUND");
  if (begun.begun) return true;
  // Somebody may have begun it since the look: the record comes before the job.
  if ((await readCommand(records, command.job, command.commandId)) !== undefined) return false;
  if (isTerminalJobState(begun.state)) return refuseCall("JOB_TERMINAL");
  return begun.revision === command.expectedRevision ? false : refuseCall("REVISION_MISMATCH");
}
