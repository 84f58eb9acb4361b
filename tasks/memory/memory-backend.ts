import type {
  AttemptOutcome,
  BackendClaim,
  CancelListener,
  PulseAnswer,
  WorkerBackend,
} from "../worker/backend.ts";
import { pause, processTime } from "../worker/time.ts";
import type { MemoryTable } from "./memory-table.ts";

/** A claim, fenced by the number of its hold. */
export interface MemoryClaim extends BackendClaim {
  readonly hold: number;
}

/** The worker runtime's verbs on a table in memory. */
export class MemoryBackend implements WorkerBackend<MemoryClaim> {
  /** Nothing lapses by time: only the table's `lapse` takes claims away. */
  readonly leaseMs = 30_000;
  readonly freshClaimIsProof = true;
  readonly #table: MemoryTable;
  #changed = false;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async fetch(count: number): Promise<readonly MemoryClaim[]> {
    this.#changed = false;
    const sentAt = processTime.now();
    return this.#table.claim(count).map(({ jobId, attempt, maxAttempts, hold, request }) => {
      const { task, input, traceparent } = request;
      const claim = { jobId, attempt, maxAttempts, hold, task, input: structuredClone(input), sentAt };
      return traceparent === undefined ? claim : { ...claim, traceparent };
    });
  }

  async pulse({ jobId, hold }: MemoryClaim): Promise<PulseAnswer> {
    const job = this.#table.held(jobId, hold);
    if (job === undefined) return "lost";
    return job.cancelRequested ? "cancelled" : "held";
  }

  async settle({ jobId, hold }: MemoryClaim, outcome: AttemptOutcome): Promise<"settled" | "lost"> {
    return this.#table.settle(jobId, hold, outcome) ? "settled" : "lost";
  }

  async giveBack({ jobId, hold }: MemoryClaim): Promise<void> {
    this.#table.giveBack(jobId, hold);
  }

  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const forget = this.#table.onChange(() => {
      this.#changed = true;
      woken.abort();
    });
    const dueInMs = (this.#table.nextRunAt ?? Number.POSITIVE_INFINITY) - this.#table.now();
    if (!this.#changed && dueInMs > 0)
      await pause(processTime, Math.min(timeoutMs, dueInMs), AbortSignal.any([signal, woken.signal]));
    forget();
  }

  onCancelRequest(listener: CancelListener): () => void {
    return this.#table.onCancelRequest(listener);
  }
}
