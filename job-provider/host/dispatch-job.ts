import type { JobsClient } from "../../capability/index.ts";
import { carrierOf } from "../../tasks/jobs/carrier-job.ts";
import { enqueueDispatch } from "../../tasks/jobs/enqueue-dispatch.ts";
import type { Trouble } from "../../tasks/jobs/jobs-queue.ts";
import { markDispatches } from "../../tasks/jobs/records/mark-dispatches.ts";
import { dispatchedJobs } from "./records/dispatched-jobs.ts";
import type { JobSession } from "./records/job-session.ts";
import type { Dispatch } from "./records/record-types.ts";
import { replaceDispatch } from "./records/replace-dispatch.ts";

/** The kind of every Jobs job that carries a job of a host to a worker. */
export const jobCarrierKind = "lenso.job";

/** What dispatching needs of a host. */
export interface JobDispatching {
  readonly jobs: JobsClient;
  readonly queue: string;
  readonly leaseSeconds: number;
  readonly records: JobSession;
  readonly trouble: Trouble;
}

/** Enqueues the Jobs job of a recorded dispatch, as `enqueueDispatch` does: never throws, and may be repeated. */
export function dispatchJob(host: JobDispatching, recorded: Dispatch): Promise<boolean> {
  const { jobs, queue, leaseSeconds, records, trouble } = host;
  return enqueueDispatch(
    {
      jobs,
      trouble,
      carrier: (dispatch) => carrierOf(queue, dispatch, jobCarrierKind),
      mark: ({ id, dispatch }, jobId) =>
        markDispatches(dispatchedJobs(records), [{ id, dispatch, jobId, leaseSeconds }]),
      async next({ id, dispatch }) {
        const lost = { id, dispatch, delivery: 0, jobId: null };
        return (await replaceDispatch(records, lost, leaseSeconds))?.next;
      },
    },
    recorded,
  );
}
