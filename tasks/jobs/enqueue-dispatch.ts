import type { EnqueueRequest, JobsClient } from "../../capability/index.ts";
import type { Trouble } from "./jobs-queue.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";
import type { Dispatch } from "./records/record-state.ts";

/** A key that is taken means a record restored from a backup; its numbers run behind the jobs that exist. */
const maxConflicts = 32;

/** Where recorded dispatches go. */
export interface Dispatching {
  readonly jobs: JobsClient;
  readonly trouble: Trouble;
  /** The Jobs job of a dispatch, all of it from what was recorded. */
  carrier(dispatch: Dispatch): EnqueueRequest;
  /** Stores which Jobs job carries it; the first writer wins. */
  mark(dispatch: Dispatch, jobId: string): Promise<void>;
  /** The dispatch that replaces one whose number is taken by another job; undefined when the record has moved on. */
  next(dispatch: Dispatch): Promise<Dispatch | undefined>;
  /** Called when the capability itself says no, which no repetition helps: a role or a queue that is configured wrongly. */
  refused?(refusal: JobsRefusal): void;
}

/**
 * Enqueues the Jobs job of a dispatch that is recorded. Any number of callers may do so at once and again: the job is the same, or
 * its delivery a no-op. Never throws: what is not dispatched now (false) stays recorded, and the sweep finds it.
 */
export async function enqueueDispatch(to: Dispatching, recorded: Dispatch): Promise<boolean> {
  let dispatch: Dispatch | undefined = recorded;
  try {
    for (let tried = 0; dispatch !== undefined && tried < maxConflicts; tried += 1)
      dispatch = await enqueueOnce(to, dispatch);
    to.trouble.ends("dispatch");
    return true;
  } catch (error) {
    to.trouble.begins("dispatch", error);
    if (error instanceof JobsRefusal && error.answered) to.refused?.(error);
    return false;
  }
}

/** Resolves to the dispatch that has to be tried instead, if any. */
async function enqueueOnce(to: Dispatching, dispatch: Dispatch): Promise<Dispatch | undefined> {
  const answer = await to.jobs.enqueue(to.carrier(dispatch));
  if (answer.ok) {
    await to.mark(dispatch, answer.value.job_id);
    return undefined;
  }
  if (domainCode(answer.error) !== "idempotency_conflict") throw new JobsRefusal("enqueue", answer.error);
  return to.next(dispatch);
}
