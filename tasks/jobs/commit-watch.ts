import { dispatchRecord } from "./dispatch-record.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import { isUndispatched } from "./records/is-undispatched.ts";
import type { Dispatch } from "./records/record-state.ts";

/** When to look whether a caller's transaction has committed, in ms after the enqueue. The sweep of a worker is the net below. */
const looksAfterMs = [5, 20, 60, 200, 600];

/** Looks for the commits of transactions that were joined in this process, so that their tasks need not wait for a sweep. */
export class CommitWatch {
  readonly #queue: JobsQueue;
  readonly #waiting = new Map<Dispatch, ReturnType<typeof setTimeout>>();
  readonly #looks = new Set<Promise<void>>();
  #closed = false;

  constructor(queue: JobsQueue) {
    this.#queue = queue;
  }

  readonly watch = (recorded: Dispatch): void => this.#lookLater(recorded, 0);

  /** Looks once more at what it still waits for, then no more. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const [recorded, timer] of this.#waiting) {
      clearTimeout(timer);
      this.#look(recorded, looksAfterMs.length);
    }
    await Promise.all(this.#looks);
  }

  #lookLater(recorded: Dispatch, index: number): void {
    const delay = looksAfterMs[index];
    if (delay === undefined || this.#closed) return;
    this.#waiting.set(
      recorded,
      setTimeout(() => this.#look(recorded, index), delay),
    );
  }

  #look(recorded: Dispatch, index: number): void {
    this.#waiting.delete(recorded);
    const look: Promise<void> = this.#dispatchIfCommitted(recorded, index).finally(() =>
      this.#looks.delete(look),
    );
    this.#looks.add(look);
  }

  /** A record that cannot be seen may still be on its way; a rolled-back one never comes, and the looks end. */
  async #dispatchIfCommitted(recorded: Dispatch, index: number): Promise<void> {
    const found = await isUndispatched(this.#queue.records, recorded).catch(() => undefined);
    if (found === undefined) this.#lookLater(recorded, index + 1);
    else if (found) await dispatchRecord(this.#queue, recorded);
  }
}
