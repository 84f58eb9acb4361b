import type { JsonValue } from "../../../capability/index.ts";
import { callQuietly } from "../../../tasks/logger.ts";
import { validateValue } from "../../configuration/validate-value.ts";
import { type AttemptWorkspace, openAttemptWorkspace } from "../../files/open-attempt-workspace.ts";
import { configurationLimits } from "../../submission/read-configuration.ts";
import type { HostParts } from "../host-parts.ts";
import { AttemptGate } from "./attempt-gate.ts";
import { JobAttemptOver } from "./attempt-over.ts";
import { openAttemptServices } from "./attempt-services.ts";
import type { AttemptWork } from "./attempt-work.ts";
import { checkCompletion } from "./check-completion.ts";
import { chooseCheckpoint } from "./choose-checkpoint.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { enterExecution } from "./records/enter-execution.ts";
import { attemptText } from "./records/fence-guard.ts";
import { keptArtifacts } from "./records/kept-artifacts.ts";
import { type AdmittedCheckpoint, readCheckpoints } from "./records/read-checkpoints.ts";
import type { AttemptEnd } from "./records/settle-attempt.ts";
import { untilAnswered } from "./until-answered.ts";

/**
 * One attempt, in this order: choose the checkpoint, lay out the workspace, record that the provider is entered, run it, end its services,
 * validate its result, check what it published, remove the workspace. Never rejects. What the provider throws goes nowhere.
 *
 * An attempt that was asked to end is interrupted, whatever its provider returned or threw: one that stops early because it was asked to returns
 * like one that is done.
 */
export async function executeAttempt(
  parts: HostParts,
  work: AttemptWork,
  signal: AbortSignal,
): Promise<AttemptEnd> {
  const attempt = { parts, work, signal, gate: new AttemptGate(signal) };
  try {
    const resumedFrom = await findCheckpoint(attempt);
    const workspace = await openWorkspace(attempt, resumedFrom);
    try {
      return signal.aborted ? stopped : await runProvider(attempt, workspace, resumedFrom);
    } finally {
      // What cannot be removed now, a later sweep of the workspaces finds: it changes nothing for the job.
      await workspace.close().catch((error: unknown) => callQuietly(() => parts.onError?.(error)));
    }
  } catch (error) {
    // Whoever no longer holds the job settles nothing anyway.
    if (signal.aborted || error instanceof JobAttemptOver) return stopped;
    // None of it is the provider's doing: files, a store or the database could not be had. The next attempt may fare better.
    callQuietly(() => parts.onError?.(error));
    return { kind: "interrupted", spent: true, delaySeconds: backoffSeconds(work.attempt) };
  }
}

const stopped: AttemptEnd = { kind: "interrupted", spent: false, delaySeconds: 0 };

interface AttemptAtWork {
  readonly parts: HostParts;
  readonly work: AttemptWork;
  readonly signal: AbortSignal;
  readonly gate: AttemptGate;
}

async function findCheckpoint({ parts, work, gate }: AttemptAtWork): Promise<AdmittedCheckpoint | undefined> {
  const { provider, fence } = work;
  if (provider.runnable.recovery.mode !== "checkpoint") return undefined;
  const checkpoints = await untilAnswered(gate, parts.trouble, () =>
    readCheckpoints(parts.attemptRecords, fence.id),
  );
  return chooseCheckpoint(provider.runnable, checkpoints);
}

function openWorkspace(
  { parts, work, signal, gate }: AttemptAtWork,
  resumedFrom: AdmittedCheckpoint | undefined,
): Promise<AttemptWorkspace> {
  return openAttemptWorkspace({
    directory: parts.workspaceDirectory,
    job: { hostId: parts.hostId, jobId: work.fence.id },
    attemptId: attemptText(work.fence),
    revisions: parts.revisions,
    input: work.input,
    ...(resumedFrom && { checkpoint: resumedFrom.revision }),
    assertLive: () => gate.check(),
    signal,
  });
}

async function runProvider(
  { parts, work, signal, gate }: AttemptAtWork,
  workspace: AttemptWorkspace,
  resumedFrom: AdmittedCheckpoint | undefined,
): Promise<AttemptEnd> {
  const { attemptRecords: records, trouble, revisions, artifacts, logLimit } = parts;
  const { fence, provider } = work;
  const ask = <T>(statement: () => Promise<T>): Promise<T> => untilAnswered(gate, trouble, statement);
  if (!(await ask(() => enterExecution(records, fence, resumedFrom?.ordinal)))) return gate.lose();
  const inOrder = oneAtATime();
  const deps = { fence, gate, records, revisions, artifacts, workspace, trouble, logLimit, inOrder };
  const { services, end } = openAttemptServices(deps, provider, { signal, resumedFrom });
  const ran = await callProvider(work, services, resumedFrom);
  await end();
  if (signal.aborted) return stopped;
  if (ran === undefined) return { kind: "failed", code: "PROVIDER_EXECUTION_FAILED" };
  const validation = await validResult(provider.runnable.resultSchema, ran.raw);
  if (validation === undefined) return { kind: "failed", code: "RESULT_INVALID" };
  const kept = await ask(() => keptArtifacts(records, fence.id));
  const code = await checkCompletion(artifacts, provider.descriptor.artifacts, kept, gate.signal);
  return code === undefined ? { kind: "completed", result: validation.value } : { kind: "failed", code };
}

/** What the provider returned, or undefined when it threw. */
async function callProvider(
  { provider, input, configuration }: AttemptWork,
  services: unknown,
  resumedFrom: AdmittedCheckpoint | undefined,
): Promise<{ readonly raw: unknown } | undefined> {
  const resume = resumedFrom && { revision: resumedFrom.revision, metadata: resumedFrom.metadata };
  const call = Object.freeze({ input, configuration, ...(resume && { resume }) });
  try {
    return { raw: await provider.runnable.execute(call, services) };
  } catch {
    return undefined;
  }
}

async function validResult(
  schema: AttemptWork["provider"]["runnable"]["resultSchema"],
  raw: unknown,
): Promise<{ readonly value: JsonValue } | undefined> {
  try {
    const validation = await validateValue(schema, raw, configurationLimits);
    return validation.ok ? validation : undefined;
  } catch {
    return undefined; // the schema itself failed
  }
}

/** The more attempts could not be made, the longer the next one waits: 2, 4, 8 … s, at most 5 minutes. */
function backoffSeconds(attempt: number): number {
  return Math.min(300, 2 ** attempt);
}
