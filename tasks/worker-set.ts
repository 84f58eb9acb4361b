import type { QuietLogger } from "./logger.ts";
import type { TaskWorker } from "./provider.ts";
import { TaskQueueError } from "./task-queue-error.ts";
import { setLongTimeout } from "./worker/time.ts";

/** How long a handler may take to end once its signal has aborted at the end of a drain. */
const graceMs = 1000;

/** The workers of one queue, for the queue to close them. */
export class WorkerSet {
  readonly #running = new Set<TaskWorker>();
  readonly #logger: QuietLogger;

  constructor(logger: QuietLogger) {
    this.#logger = logger;
  }

  /** Keeps a worker until it is done. One that fails is reported, so that a `done` that nobody awaits is not a lost error. */
  add(worker: TaskWorker): TaskWorker {
    this.#running.add(worker);
    worker.done
      .catch((err: unknown) => this.#logger.error({ err }, "a worker of the task queue ended with a failure"))
      .finally(() => this.#running.delete(worker));
    return worker;
  }

  /**
   * Stops all workers, then closes what they worked on, also when a worker could not stop.
   *
   * @throws TaskQueueError, or AggregateError with both failures.
   */
  async closeThen(drainMs: number | undefined, close: () => Promise<void>): Promise<void> {
    const failures: unknown[] = [];
    const stops = await Promise.allSettled([...this.#running].map((worker) => stopWithin(worker, drainMs)));
    failures.push(...stops.flatMap((stop) => (stop.status === "rejected" ? [stop.reason] : [])));
    await Promise.resolve()
      .then(close)
      .catch((error: unknown) => failures.push(error));
    if (failures.length === 0) return;
    const errors = failures.map((cause) =>
      cause instanceof TaskQueueError
        ? cause
        : new TaskQueueError("provider-unavailable", "close", { cause }),
    );
    const [first, ...others] = errors as [TaskQueueError, ...TaskQueueError[]];
    throw others.length === 0 ? first : new AggregateError(errors, "the queue did not close cleanly");
  }
}

async function stopWithin(worker: TaskWorker, drainMs: number | undefined): Promise<void> {
  if (drainMs === undefined) return worker.stop();
  let aborted: Promise<void> | undefined;
  const disarm = setLongTimeout(drainMs, () => {
    aborted = worker.stop({ abort: true, graceMs });
    aborted.catch(() => {}); // awaited below, once the first stop has ended
  });
  await worker.stop().finally(disarm);
  await aborted;
}
