import { createHash } from "node:crypto";
import { newRecordId } from "../../../tasks/jobs/new-record-id.ts";
import type { JobSubmitOutcome } from "../../submission/job-submit-outcome.ts";
import { parseJobSubmitInput } from "../../submission/parse-job-submit-input.ts";
import { requestDigest } from "../../submission/request-digest.ts";
import type { HostParts } from "../host-parts.ts";
import { isAnswerLost } from "../is-answer-lost.ts";
import { type FoundSubmission, findSubmission } from "../records/find-submission.ts";
import { insertJob, type NewJob } from "../records/insert-job.ts";
import type { Dispatch } from "../records/record-types.ts";
import { admitSubmission } from "./admit-submission.ts";
import { acceptedOutcome, refusedOutcome, type Submission, unknownOutcome } from "./submit-outcome.ts";

/**
 * Accepts a job, refuses it, or finds that the same request was accepted before: a request that holds its key already is not looked at again,
 * whatever became of provider, input or host meanwhile. `unknown` when the answer of the commit was lost, or the caller's signal aborted
 * while it was under way.
 *
 * @throws TypeError for a malformed request, naming the pointer; JobHostError; the signal's reason while nothing has been recorded
 */
export async function submitJob(host: HostParts, submitted: unknown): Promise<JobSubmitOutcome> {
  const request = parseJobSubmitInput(submitted);
  const { signal, submissionKey } = request;
  signal?.throwIfAborted();
  const submission = { hostId: host.hostId, request, requestDigest: requestDigest(request) };
  const keyDigest = createHash("sha256").update(submissionKey).digest("hex");
  const earlier = await findSubmission(host.records, keyDigest);
  if (earlier !== undefined) return repeatedOutcome(submission, earlier);

  const admission = await admitSubmission(host, request);
  signal?.throwIfAborted();
  if (!admission.ok) return refusedOutcome(submission, admission);
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
    if (signal?.aborted === true || isAnswerLost(error)) return unknownOutcome(submission);
    throw error;
  }
}

function repeatedOutcome(submission: Submission, { id, requestDigest }: FoundSubmission): JobSubmitOutcome {
  return requestDigest === submission.requestDigest
    ? acceptedOutcome(submission, id, true)
    : refusedOutcome(submission, { code: "SUBMISSION_KEY_CONFLICT" });
}

/** Records the job, and dispatches it behind the answer's back: it is accepted, whatever the Jobs capability says or when. */
function acceptJob(host: HostParts, job: NewJob): Promise<Dispatch | undefined> {
  const accepting = insertJob(host.records, job).then((recorded) => {
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
