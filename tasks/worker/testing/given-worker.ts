import type { ExecutionResult, TaskWorker } from "../../provider.ts";
import type { ExecuteRunning, RunningTask } from "../attempt.ts";
import { type RunWorkerOptions, runWorker } from "../run-worker.ts";
import { ManualTime } from "./manual-time.ts";
import { MemoryBackend } from "./memory-backend.ts";

export const succeeded: ExecutionResult = { ok: true, result: null };

/** A handler that a test ends by hand. */
export interface Entered extends RunningTask {
  end(result?: ExecutionResult): void;
}

export interface GivenWorker {
  readonly time: ManualTime;
  readonly backend: MemoryBackend;
  readonly worker: TaskWorker;
  readonly entered: Entered[];
  readonly errors: unknown[];
  /** Advances just so far that everything due now has happened. */
  now(): Promise<void>;
}

/** A worker on a table in memory and on a clock that stands still. Without `execute` each handler waits for its test to end it. */
export function givenWorker(
  given: Partial<RunWorkerOptions> & {
    readonly jobs?: number;
    readonly leaseMs?: number;
    readonly freshClaimIsProof?: boolean;
    readonly execute?: ExecuteRunning;
    readonly prepare?: (backend: MemoryBackend, time: ManualTime) => void;
  } = {},
): GivenWorker {
  const { jobs = 0, leaseMs, freshClaimIsProof, execute, prepare, ...options } = given;
  const time = new ManualTime();
  const backend = new MemoryBackend(time, {
    ...(leaseMs === undefined ? {} : { leaseMs }),
    ...(freshClaimIsProof === undefined ? {} : { freshClaimIsProof }),
  });
  for (let index = 0; index < jobs; index += 1) backend.add();
  prepare?.(backend, time);
  const entered: Entered[] = [];
  const errors: unknown[] = [];
  const byHand: ExecuteRunning = (claimed) =>
    new Promise((resolve) => entered.push({ ...claimed, end: (result = succeeded) => resolve(result) }));
  const worker = runWorker(backend, execute ?? byHand, {
    concurrency: 1,
    time,
    onError: (error) => errors.push(error),
    ...options,
  });
  return { time, backend, worker, entered, errors, now: () => time.advance(0) };
}
