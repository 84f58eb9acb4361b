import { setTimeout as sleep } from "node:timers/promises";
import {
  type JobHost,
  JobHostError,
  type JobLogLine,
  type JobResult,
} from "../../job-provider/host/index.ts";
import type { JobProgressUpdate, JobProjectionEvent, JobReference } from "../../job-provider/index.ts";

/** How a job is followed. */
export interface JobFollowing {
  readonly reference: JobReference;
  /** The revision and the ordinal of the log that were seen last. */
  readonly after: number;
  readonly logsAfter: number;
  /** Ends the following, not the job. */
  readonly signal: AbortSignal;
  event(event: JobProjectionEvent): Promise<void> | void;
  log(line: JobLogLine): void;
  progress(update: JobProgressUpdate): void;
}

/** How often progress and logs are looked at, in ms. Events come by themselves. */
const lookMs = 500;

/**
 * Follows a job until it has ended, and tells every event and every line of its log once, those of the end included.
 *
 * @returns how it ended
 * @throws the signal's reason; JobHostError `job-not-found` among others
 */
export async function watchToEnd(host: JobHost, following: JobFollowing): Promise<JobResult> {
  const { reference, after, signal } = following;
  const ended = new AbortController();
  const observing = observe(host, following, AbortSignal.any([signal, ended.signal]));
  observing.catch(() => ended.abort());
  try {
    const watching = AbortSignal.any([signal, ended.signal]);
    for await (const event of host.watch(reference, { after, signal: watching }))
      await following.event(event);
  } finally {
    ended.abort();
    await observing;
  }
  const result = await host.result(reference);
  if (result === null) throw new JobHostError("job-not-found");
  return result;
}

/** Looks now and then, and once more when the job has ended, unless nobody wants it any more. */
async function observe(host: JobHost, following: JobFollowing, until: AbortSignal): Promise<void> {
  const { reference, signal } = following;
  let { logsAfter } = following;
  let shown = "";
  const look = async (): Promise<void> => {
    const progress = await host.progress(reference);
    if (progress !== null && progress.at !== shown) {
      shown = progress.at;
      following.progress(progress.update);
    }
    for (;;) {
      const page = await host.logs(reference, { after: logsAfter, limit: 1000 });
      for (const line of page?.lines ?? []) {
        following.log(line);
        logsAfter = line.ordinal;
      }
      if ((page?.next ?? null) === null) return;
    }
  };
  // An outage is waited out, as the watch does; whatever else went wrong ends both.
  const lookIfThere = (): Promise<void> =>
    look().catch((error: unknown) => {
      if (!(error instanceof JobHostError && error.code === "unavailable")) throw error;
    });
  while (!until.aborted) {
    await lookIfThere();
    await sleep(lookMs, undefined, { signal: until }).catch(() => undefined);
  }
  if (!signal.aborted) await lookIfThere();
}
