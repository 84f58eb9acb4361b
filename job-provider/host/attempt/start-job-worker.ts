import * as v from "valibot";
import { describeIssue, integer, withoutUndefined } from "../../../tasks/check-options.ts";
import { SchemaUnfit } from "../../../tasks/jobs/migration/verify-schema.ts";
import { succeedOnce } from "../../../tasks/jobs/succeed-once.ts";
import type { StopOptions } from "../../../tasks/provider.ts";
import { TaskQueueError } from "../../../tasks/task-queue-error.ts";
import { runWorker } from "../../../tasks/worker/run-worker.ts";
import type { HostParts } from "../host-parts.ts";
import { JobHostError } from "../job-host-error.ts";
import { JobWorkerBackend } from "./job-worker-backend.ts";
import { sweepWorkspaces } from "./sweep-workspaces.ts";

/** How a worker of a job host works. */
export interface JobWorkerOptions {
  /** Most attempts at a time, 1..100, of this worker only. Each has a workspace of its own. Default 1. */
  readonly concurrency?: number;
}

/** A running worker of a job host. */
export interface JobWorker {
  /** Resolves after the drain; rejects with a `JobHostError` only when an outage outlasts five minutes, or the host cannot work at all. */
  readonly done: Promise<void>;
  /**
   * Takes no further job and waits for the attempts under way. With `abort` their signals abort, and what stops then goes on in another worker
   * without costing an attempt; a provider with external effects that has been entered leaves its job for a person. Safe twice.
   */
  stop(options?: StopOptions): Promise<void>;
}

/** Starts a worker: it takes accepted jobs, runs their providers, and goes on until it is stopped. @throws JobHostError `invalid-options` */
export function startJobWorker(parts: HostParts, options: JobWorkerOptions = {}): JobWorker {
  const { concurrency } = checkOptions(options);
  const sweeps = new Set<Promise<void>>();
  const ready = succeedOnce(async () => {
    await parts.ready().catch(endWithUnfitSchema);
    await parts.workspaces(); // where none can be, no job is taken
    const sweep: Promise<void> = sweepWorkspaces(parts).finally(() => sweeps.delete(sweep));
    sweeps.add(sweep);
  });
  const backend = new JobWorkerBackend(parts, ready);
  parts.sweeper.join();
  const worker = runWorker(backend, (claimed) => backend.execute(claimed), {
    concurrency,
    // A wait on signals looks by itself; the back end falls back to the interval when they fail.
    pollIntervalMs: parts.signals === undefined ? parts.pollIntervalMs : signalledPollMs,
    onError: (error) => parts.onError?.(error),
  });
  const ended = async (): Promise<void> => {
    try {
      await worker.done;
    } catch (error) {
      throw asHostError(error);
    } finally {
      parts.sweeper.leave();
      await Promise.all(sweeps);
    }
  };
  const done = ended();
  done.catch(() => undefined); // nobody may be waiting for it
  return {
    done,
    async stop(given) {
      await worker.stop(given);
      await done.catch(() => undefined);
    },
  };
}

/** How long a worker waits on signals before it looks by itself, in ms. */
const signalledPollMs = 15_000;

const workerOptions = v.strictObject({ concurrency: v.optional(integer(1, 100), 1) });

function checkOptions(options: JobWorkerOptions): v.InferOutput<typeof workerOptions> {
  const parsed = v.safeParse(workerOptions, withoutUndefined(options));
  if (parsed.success) return parsed.output;
  throw new JobHostError("invalid-options", {
    cause: new TypeError(describeIssue(parsed.issues, workerOptions)),
  });
}

/** The runtime speaks of task queues. */
function asHostError(error: unknown): unknown {
  if (!(error instanceof TaskQueueError)) return error;
  const { code, cause } = error;
  if (cause instanceof SchemaUnfit) return new JobHostError("schema-unfit", { cause });
  return new JobHostError(code === "invalid-options" ? code : "unavailable", { cause });
}

/** A schema that cannot be worked with is no outage: waiting does not help. */
function endWithUnfitSchema(error: unknown): never {
  if (error instanceof SchemaUnfit) throw new TaskQueueError("invalid-options", "work", { cause: error });
  throw error;
}
