import { callQuietly } from "../../../tasks/logger.ts";
import type { RunningTask } from "../../../tasks/worker/attempt.ts";
import { type AttemptWorkspace, openAttemptWorkspace } from "../../files/open-attempt-workspace.ts";
import { checkResult, classOf } from "../check-result.ts";
import type { HostParts } from "../host-parts.ts";
import { tellProviderFailure } from "../job-provider-failure.ts";
import type { JobReasonCode } from "../records/record-types.ts";
import { AttemptGate } from "./attempt-gate.ts";
import { JobAttemptOver } from "./attempt-over.ts";
import { type OpenServices, openAttemptServices } from "./attempt-services.ts";
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
 * validate its result, check what it published, remove the workspace. Never rejects. What the provider throws goes to `onError` and nowhere else;
 * a line in the job's log says of a failure what may be kept of it.
 *
 * An attempt that was asked to end is interrupted, whatever its provider returned or threw: one that stops early because it was asked to returns
 * like one that is done.
 */
export async function executeAttempt(
  parts: HostParts,
  work: AttemptWork,
  { signal, gone }: Pick<RunningTask, "signal" | "gone">,
): Promise<AttemptEnd> {
  const attempt = { parts, work, signal, gate: new AttemptGate(gone) };
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
  const { recovery } = provider.runnable;
  if (recovery.mode !== "checkpoint") return undefined;
  const checkpoints = await untilAnswered(gate, parts.trouble, () =>
    readCheckpoints(parts.attemptRecords, fence.id, recovery),
  );
  return chooseCheckpoint(recovery, checkpoints);
}

async function openWorkspace(
  { parts, work, signal, gate }: AttemptAtWork,
  resumedFrom: AdmittedCheckpoint | undefined,
): Promise<AttemptWorkspace> {
  return openAttemptWorkspace({
    directory: await parts.workspaces(),
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
  const opened = openAttemptServices(deps, provider, { signal, resumedFrom });
  const ran = await callProvider(work, opened.services, resumedFrom);
  await opened.end();
  if (signal.aborted) return stopped;
  const fail = (code: JobReasonCode, problem: Problem): Promise<AttemptEnd> =>
    failed({ parts, work, opened }, code, problem);
  if ("thrown" in ran)
    return fail("PROVIDER_EXECUTION_FAILED", {
      why: `the provider threw: ${classOf(ran.thrown)}`,
      cause: ran.thrown,
    });
  const result = await checkResult(provider.runnable.resultSchema, ran.raw);
  if (!result.ok) return fail("RESULT_INVALID", result);
  const kept = await ask(() => keptArtifacts(records, fence.id));
  const problem = await checkCompletion(artifacts, provider.descriptor.artifacts, kept, gate.signal);
  if (problem !== undefined) return fail(problem.code, problem);
  return { kind: "completed", result: result.value };
}

/** What is wrong: in words that may be kept, and what `onError` is told beside them. */
interface Problem {
  readonly why: string;
  readonly cause?: unknown;
}

/** Tells `onError` and the job's log of a failure that is the provider's. @throws JobAttemptOver when the job is another one's by now */
async function failed(
  {
    parts,
    work: { fence, provider },
    opened,
  }: { readonly parts: HostParts; readonly work: AttemptWork; readonly opened: OpenServices },
  code: JobReasonCode,
  { why, cause = new Error(why) }: Problem,
): Promise<AttemptEnd> {
  const facts = {
    jobId: fence.id,
    providerId: provider.descriptor.id,
    during: `attempt ${attemptText(fence)}`,
  };
  tellProviderFailure(parts, { ...facts, code }, cause);
  await opened.say({ level: "error", message: `${code}: ${why}`.slice(0, 4096) });
  return { kind: "failed", code };
}

/** What the provider returned or threw. */
async function callProvider(
  { provider, input, configuration }: AttemptWork,
  services: unknown,
  resumedFrom: AdmittedCheckpoint | undefined,
): Promise<{ readonly raw: unknown } | { readonly thrown: unknown }> {
  const resume = resumedFrom && { revision: resumedFrom.revision, metadata: resumedFrom.metadata };
  const call = Object.freeze({ input, configuration, ...(resume && { resume }) });
  try {
    return { raw: await provider.runnable.execute(call, services) };
  } catch (thrown) {
    return { thrown };
  }
}

/** The more attempts could not be made, the longer the next one waits: 2, 4, 8 … s, at most 5 minutes. */
function backoffSeconds(attempt: number): number {
  return Math.min(300, 2 ** attempt);
}
