import { setTimeout as sleep } from "node:timers/promises";
import type { CancelListener } from "../worker/backend.ts";
import { backoffMs } from "../worker/backoff.ts";
import type { Trouble } from "./jobs-queue.ts";
import type { RecordDatabase } from "./records/record-database.ts";

/**
 * Tells whoever watches what the record's database notifies of on one channel, and what this process tells by itself, at once. Listens while
 * somebody watches. A notification may be lost: whoever depends on it looks by itself too, if more seldom.
 */
export class ChannelWatch {
  readonly #database: RecordDatabase;
  readonly #trouble: Trouble;
  readonly #channel: string;
  readonly #listeners = new Set<CancelListener>();
  #stopping: AbortController | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(database: RecordDatabase, trouble: Trouble, channel: string) {
    this.#database = database;
    this.#channel = channel;
    this.#trouble = trouble;
  }

  /** That happened to a job; undefined: to any, as notifications may have been missed. */
  readonly tell: CancelListener = (jobId) => {
    for (const listener of this.#listeners) listener(jobId);
  };

  /** Calls back with each payload from now on. Returns what ends it. */
  readonly watch = (listener: CancelListener): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stopping?.abort();
    };
  };

  /** Listens no more. */
  async close(): Promise<void> {
    this.#stopping?.abort();
    await this.#loop;
  }

  #start(): void {
    const stopping = new AbortController();
    this.#stopping = stopping;
    this.#loop = this.#loop.then(() => this.#listen(stopping.signal));
  }

  async #listen(stopping: AbortSignal): Promise<void> {
    for (let failures = 0; !stopping.aborted; ) {
      const ended = Promise.withResolvers<void>();
      const end = (): void => ended.resolve();
      stopping.addEventListener("abort", end, { once: true });
      try {
        const subscription = await this.#database.listen(this.#channel, {
          onPayload: this.tell,
          onListening: () => this.tell(undefined),
          onLost: end,
        });
        this.#trouble.ends("listen");
        failures = 0;
        await ended.promise;
        await subscription.close();
      } catch (error) {
        failures += 1;
        if (!stopping.aborted) this.#trouble.begins("listen", error);
      }
      stopping.removeEventListener("abort", end);
      if (!stopping.aborted)
        await sleep(backoffMs(failures + 1, { capMs: 30_000 }), undefined, { signal: stopping }).catch(
          () => undefined,
        );
    }
  }
}
