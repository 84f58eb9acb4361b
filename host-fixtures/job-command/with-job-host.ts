import {
  type CapabilityHandle,
  createJobsClient,
  createSignalsClient,
  RuntimeFailureError,
} from "../../capability/index.ts";
import { createJobHost, type JobHost } from "../../job-provider/host/index.ts";
import { describeError } from "../app-command/describe-error.ts";
import { type Host, startHost } from "../host.ts";
import { checkQueue } from "./check-queue.ts";
import type { JobCommandIo } from "./job-command-io.ts";
import type { LoadedJobHost } from "./load-job-host.ts";
import { printable } from "./printable.ts";

/** What a job host is opened for. */
export interface JobHostUse {
  /** Whether the work reaches the queue: only then the composition is started. What reads the records goes on without it. */
  readonly queue: boolean;
  readonly io: JobCommandIo;
}

/**
 * Runs work on a job host and closes what it opened. The host's options are checked before anything starts.
 *
 * @throws JobHostError `invalid-options`; CommandFailure `config-invalid` when the queue cannot carry its jobs; what the start or the work threw. A close that fails is told beside the answer, which stands.
 */
export async function withJobHost<T>(
  loaded: LoadedJobHost,
  { queue, io }: JobHostUse,
  work: (host: JobHost) => Promise<T>,
): Promise<T> {
  const { options, composition, instance } = loaded;
  const say = (what: string, error: unknown): void =>
    io.err(`${printable(`${what}: ${describeError(error, io.environment)}`)}\n`); // what a provider threw may say anything
  let running: Host | undefined;
  // Handles of a composition that starts later, so that the options are checked first.
  const handle = (requirement: string): CapabilityHandle => ({
    async invoke(operation, payload, invokeOptions) {
      const bound = running?.handle(instance, requirement);
      if (bound === undefined)
        throw new RuntimeFailureError("admission_closed", "the composition is not started");
      return bound.invoke(operation, payload, invokeOptions);
    },
  });
  const host = createJobHost({
    onError: (error) => say("trouble", error),
    ...options,
    jobs: createJobsClient(handle(loaded.jobs)),
    ...(loaded.signals !== undefined && { signals: createSignalsClient(handle(loaded.signals)) }),
  });
  try {
    if (queue) {
      checkQueue(loaded);
      running = await startHost(composition);
    }
    return await work(host);
  } finally {
    await host.close().catch((error: unknown) => say("the job host did not close cleanly", error));
    await running?.stop().catch((error: unknown) => say("the composition did not stop cleanly", error));
  }
}
