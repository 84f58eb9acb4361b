import { carrierOf } from "./carrier-job.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";
import { nextDispatch } from "./records/next-dispatch.ts";
import type { Dispatch } from "./records/record-state.ts";

/** A key that is taken means a record restored from a backup; its numbers run behind the jobs that exist. */
const maxConflicts = 32;

/**
 * Enqueues the Jobs job of a dispatch that is recorded. Any number of callers may do so at once and again: the job is the same, or
 * its delivery a no-op. Never throws: what is not dispatched now (false) stays recorded, and the sweep finds it.
 */
export async function dispatchRecord(queue: JobsQueue, recorded: Dispatch): Promise<boolean> {
  let dispatch: Dispatch | undefined = recorded;
  try {
    for (let tried = 0; dispatch !== undefined && tried < maxConflicts; tried += 1)
      dispatch = await dispatchOnce(queue, dispatch);
    queue.trouble.ends("dispatch");
    return true;
  } catch (error) {
    queue.trouble.begins("dispatch", error);
    return false;
  }
}

/** Resolves to the dispatch that has to be tried instead, if any. */
async function dispatchOnce(queue: JobsQueue, dispatch: Dispatch): Promise<Dispatch | undefined> {
  const { jobs, records, batched, leaseSeconds } = queue;
  const answer = await jobs.enqueue(carrierOf(records.queue, dispatch));
  if (answer.ok) {
    const { job_id: jobId } = answer.value;
    await batched.mark({ id: dispatch.id, dispatch: dispatch.dispatch, jobId, leaseSeconds });
    return undefined;
  }
  if (domainCode(answer.error) !== "idempotency_conflict") throw new JobsRefusal("enqueue", answer.error);
  const lost = { id: dispatch.id, dispatch: dispatch.dispatch, delivery: 0, jobId: null };
  const next = await nextDispatch(records, lost, leaseSeconds);
  return next?.state === "pending" ? next : undefined;
}
