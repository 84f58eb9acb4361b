import { carrierOf } from "./carrier-job.ts";
import { enqueueDispatch } from "./enqueue-dispatch.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import type { JobsRefusal } from "./jobs-refusal.ts";
import { nextDispatch } from "./records/next-dispatch.ts";
import type { Dispatch } from "./records/record-state.ts";

/**
 * Enqueues the Jobs job of a task's dispatch, as {@link enqueueDispatch} does: never throws, and may be repeated. `refused` is called when
 * the capability itself said no.
 */
export function dispatchRecord(
  queue: JobsQueue,
  recorded: Dispatch,
  refused?: (refusal: JobsRefusal) => void,
): Promise<boolean> {
  const { jobs, records, batched, leaseSeconds, trouble } = queue;
  return enqueueDispatch(
    {
      jobs,
      trouble,
      ...(refused === undefined ? {} : { refused }),
      carrier: (dispatch) => carrierOf(records.queue, dispatch),
      mark: ({ id, dispatch }, jobId) => batched.mark({ id, dispatch, jobId, leaseSeconds }),
      async next({ id, dispatch }) {
        const lost = { id, dispatch, delivery: 0, jobId: null };
        const next = await nextDispatch(records, lost, leaseSeconds);
        return next?.state === "pending" ? next : undefined;
      },
    },
    recorded,
  );
}
