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
import { beginCommand } from "../records/begin-command.ts";
import { takeCommand } from "../records/hold-command.ts";
import { readCommand } from "../records/read-command.ts";
import { readJob } from "../records/read-job.ts";
import { type JobCallOutcome, refuseCall } from "./job-call-outcome.ts";
import { recordedOutcome } from "./recorded-outcome.ts";
import { readExtensionInput } from "./run-extension.ts";
import { runHeldCommand } from "./run-held-command.ts";

/** What a command is asked with. */
export interface JobCommandRequest {
  /** The caller's name for this command of the job, 1..256 UTF-16 code units. The same id and value gives the recorded result. */
  readonly commandId: string;
  /** The revision that the caller has seen. Looked at when the command begins, and not when its result is asked for again. */
  readonly expectedRevision: number;
  /** JSON for the command's input schema. */
  readonly value: unknown;
  /** Passed on to the command. One that has begun is recorded, however it ends. */
  readonly signal?: AbortSignal;
}

/** How often a command that another process runs is looked at, in ms. */
const lookMs = 100;

interface Asked extends Omit<JobCommandRequest, "signal"> {
  readonly name: string;
  readonly signal: AbortSignal;
}

/**
 * Runs a command of a job's provider under a record, or gives what was recorded under its id. One that another process runs is waited for; of
 * one whose runner died, the policy says what becomes.
 *
 * @throws the signal's reason, while the command has not begun here
 */
export async function commandJob(host: HostParts, id: string, asked: Asked): Promise<JobCallOutcome> {
  const snapshot = await readJob(host.records, id);
  if (snapshot === undefined) return refuseCall("JOB_NOT_FOUND");
  const provider = host.providers.get(snapshot.provider.id);
  if (provider === undefined) return refuseCall("PROVIDER_NOT_FOUND");
  const command = provider.runnable.commands.find(({ name }) => name === asked.name);
  if (command === undefined) return refuseCall("OPERATION_NOT_FOUND");
  const read = await readExtensionInput(command, asked.value);
  if (!read.ok) return read;
  const artifacts = await readableArtifacts(host, id);
  const value = canonicalJson(read.given);
  return settleCommand(host, { ...asked, snapshot, command, artifacts, input: read.input, value });
}

interface ReadyCommand extends Asked {
  readonly snapshot: JobSnapshot;
  readonly command: AnyJobCommand;
  readonly artifacts: readonly JobReadableArtifact[];
  /** The schema's output; and what it was made from, as canonical JSON. */
  readonly input: JsonValue;
  readonly value: string;
}

/** Each round looks at the record, and begins, takes over, gives up or waits. */
async function settleCommand(host: HostParts, ready: ReadyCommand): Promise<JobCallOutcome> {
  const { records } = host;
  const job = ready.snapshot.reference.jobId;
  const valueDigest = digestOf(ready.value);
  const run = { job, commandId: ready.commandId, runner: randomUUID() };
  for (;;) {
    ready.signal.throwIfAborted();
    const stored = await readCommand(records, job, ready.commandId);
    const sentAt = performance.now();
    if (stored === undefined) {
      const { name, expectedRevision, value } = ready;
      const policy = ready.command.replayPolicy;
      const begun = await beginCommand(records, {
        ...run,
        name,
        policy,
        expectedRevision,
        value,
        valueDigest,
      });
      if (begun === undefined) return refuseCall("JOB_NOT_FOUND");
      if (begun.begun) return runHeldCommand(host, { ...ready, run, sentAt });
      // Somebody may have begun it since the look: the record comes before the job.
      if ((await readCommand(records, job, ready.commandId)) !== undefined) continue;
      if (isTerminalJobState(begun.state)) return refuseCall("JOB_TERMINAL");
      if (begun.revision !== expectedRevision) return refuseCall("REVISION_MISMATCH");
      continue;
    }
    if (stored.name !== ready.name || stored.valueDigest !== valueDigest)
      return refuseCall("COMMAND_CONFLICT");
    const recorded = recordedOutcome(stored);
    if (recorded !== undefined) return recorded;
    if (stored.end.state === "running" && stored.end.isDead) {
      if (await takeCommand(records, run)) return runHeldCommand(host, { ...ready, run, sentAt });
      await abandonCommands(records);
    }
    await sleep(lookMs, undefined, { signal: ready.signal });
  }
}
