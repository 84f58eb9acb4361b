import { setTimeout as sleep } from "node:timers/promises";
import type { CancelListener } from "../worker/backend.ts";
import { backoffMs } from "../worker/backoff.ts";
import type { Trouble } from "./jobs-queue.ts";
import type { RecordDatabase } from "./records/record-database.ts";
import { cancelChannel } from "./records/request-cancel.ts";

/**
 * Tells the workers of a provider of cancel requests: those of this provider at once, those of others as the record's database notifies
 * of them. Listens while somebody works. A worker that is not told sees the request at its next pulse.
 */
export class CancelWatch {
  readonly #database: RecordDatabase;
  readonly #trouble: Trouble;
  readonly #listeners = new Set<CancelListener>();
  #stopping: AbortController | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(database: RecordDatabase, trouble: Trouble) {
    this.#database = database;
    this.#trouble = trouble;
  }

  /** Somebody asked to cancel that job; undefined: any, as requests may have been missed. */
  readonly tell: CancelListener = (jobId) => {
    for (const listener of this.#listeners) listener(jobId);
  };

  /** Calls back with each request from now on. Returns what ends it. */
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
        const subscription = await this.#database.listen(cancelChannel, {
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
