import { createHash } from "node:crypto";
import { newRecordId } from "../../../tasks/jobs/new-record-id.ts";
import type { JobSubmitInput } from "../../submission/job-submit-input.ts";
import type { JobSubmitOutcome } from "../../submission/job-submit-outcome.ts";
import { parseJobSubmitInput } from "../../submission/parse-job-submit-input.ts";
import { requestDigest } from "../../submission/request-digest.ts";
import type { HostParts } from "../host-parts.ts";
import { isAnswerLost, isWaitOver } from "../is-answer-lost.ts";
import { type FoundSubmission, findSubmission } from "../records/find-submission.ts";
import { insertJob, type NewJob } from "../records/insert-job.ts";
import type { Dispatch } from "../records/record-types.ts";
import { awaitSubmissions } from "../records/submission-lock.ts";
import { admitSubmission, type Refusal } from "./admit-submission.ts";
import {
  acceptedOutcome,
  conflictOutcome,
  refusedOutcome,
  type Submission,
  unknownOutcome,
} from "./submit-outcome.ts";

/**
 * Accepts a job, refuses it, or finds that the same request was accepted before: a request that holds its key already is not looked at again,
 * whatever became of provider, input or host meanwhile. `unknown` when the answer of the commit was lost, when the caller's signal aborted
 * while it was under way, or when another submission under the key did not come to its end in time.
 *
 * @throws TypeError for a malformed request, naming the pointer; JobHostError; the signal's reason while this call has recorded nothing
 */
export async function submitJob(host: HostParts, submitted: unknown): Promise<JobSubmitOutcome> {
  const request = parseJobSubmitInput(submitted);
  const { signal, submissionKey } = request;
  signal?.throwIfAborted();
  const submission = { hostId: host.hostId, request, requestDigest: requestDigest(request) };
  const keyDigest = createHash("sha256").update(submissionKey).digest("hex");
  const earlier = await unlessAborted(findSubmission(host.records, keyDigest), signal);
  if (earlier !== undefined) return repeatedOutcome(submission, earlier);

  const admission = await unlessAborted(admitSubmission(host, request), signal);
  if (!admission.ok) return unlessAborted(refuseIfNoJob(host, submission, { keyDigest, admission }), signal);
  const { recovery, maxAttempts } = admission.provider.descriptor;
  const job = {
    ...request,
    id: newRecordId(),
    keyDigest,
    requestDigest: submission.requestDigest,
    configuration: admission.configuration,
    recovery: recovery.mode,
    maxAttempts,
  };
  try {
    const recorded = await unlessAborted(acceptJob(host, job), signal);
    if (recorded !== undefined) return acceptedOutcome(submission, job.id, false);
    const holder = await findSubmission(host.records, keyDigest);
    return holder === undefined ? unknownOutcome(submission) : repeatedOutcome(submission, holder);
  } catch (error) {
    if (signal?.aborted === true || isUndecided(error)) return unknownOutcome(submission);
    throw error;
  }
}

/**
 * A refusal says that there is no job. The same request may have been accepted since it was looked for: by another process, or by an earlier
 * call whose caller has given up. So whoever is recording a job under the key is waited for, and the key is looked at again.
 */
async function refuseIfNoJob(
  { records }: HostParts,
  submission: Submission,
  { keyDigest, admission }: { readonly keyDigest: string; readonly admission: Refusal },
): Promise<JobSubmitOutcome> {
  try {
    await awaitSubmissions(records, keyDigest);
    const holder = await findSubmission(records, keyDigest);
    return holder === undefined ? refusedOutcome(submission, admission) : repeatedOutcome(submission, holder);
  } catch (error) {
    if (isUndecided(error)) return unknownOutcome(submission);
    throw error;
  }
}

/** Whether a job under the key may come to be, or be there, after this failure: of this call, or of one that it waited for. */
function isUndecided(error: unknown): boolean {
  return isAnswerLost(error) || isWaitOver(error);
}

function repeatedOutcome(submission: Submission, { id, requestDigest }: FoundSubmission): JobSubmitOutcome {
  return requestDigest === submission.requestDigest
    ? acceptedOutcome(submission, id, true)
    : conflictOutcome(submission, id);
}

/** Records the job, and dispatches it behind the answer's back: it is accepted, whatever the Jobs capability says or when. */
function acceptJob(
  host: HostParts,
  job: NewJob & Pick<JobSubmitInput, "signal">,
): Promise<Dispatch | undefined> {
  const accepting = insertJob(host.records, job, job.signal).then((recorded) => {
    if (recorded !== undefined) host.inBackground(host.dispatch(recorded));
    return recorded;
  });
  host.inBackground(accepting);
  return accepting;
}

/** Rejects with the signal's reason when that aborts first; the work goes on. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
