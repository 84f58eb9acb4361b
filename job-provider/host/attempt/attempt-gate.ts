import { ClaimLost, JobCancelled } from "../../../tasks/worker/abort-reasons.ts";
import { JobAttemptOver } from "./attempt-over.ts";

/**
 * Through which every call of an attempt's services goes. It shuts when the lease is lost by the attempt's own clock, when the database has
 * said so, when the job is cancelled, when the worker ended without the attempt, and when the provider has returned; not because a worker is
 * about to stop, since a provider that is asked to stop may want to publish a checkpoint.
 */
export class AttemptGate {
  readonly #gone: AbortSignal;
  readonly #calls = new Set<Promise<unknown>>();
  readonly #lost = new AbortController();
  #why: string | undefined;
  #ended = false;

  /** `gone` is the worker runtime's signal that the job is no longer the attempt's; it looks at the lease whenever it is read. */
  constructor(gone: AbortSignal) {
    this.#gone = gone;
    gone.addEventListener("abort", this.#onGone, { once: true });
  }

  /** Aborts what is under way on behalf of the attempt, such as an upload, once the job is lost to it. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** @throws JobAttemptOver once no further call is taken */
  check(): void {
    this.checkHeld();
    if (this.#ended) throw new JobAttemptOver("its provider has returned");
  }

  /** @throws JobAttemptOver once the job is lost to the attempt; that its provider has returned does not matter */
  checkHeld(): void {
    if (this.#gone.aborted) this.#onGone();
    if (this.#why !== undefined) throw new JobAttemptOver(this.#why);
  }

  /** One call of a service. Rejects with {@link JobAttemptOver}, before anything was done, once the gate is shut. */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    this.check();
    const call = (async () => work())();
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** The database no longer knows this attempt as the holder. @throws JobAttemptOver always */
  lose(): never {
    this.#shut("another one holds the job, or nobody does");
    throw new JobAttemptOver(this.#why ?? "");
  }

  /** The provider has returned: takes no further call, and resolves when those under way have ended, however they did. */
  async end(): Promise<void> {
    this.#ended = true;
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }

  readonly #onGone = (): void => {
    const { reason } = this.#gone as { readonly reason: unknown };
    if (reason instanceof ClaimLost) this.#shut("its lease is lost");
    else if (reason instanceof JobCancelled) this.#shut("the job was cancelled");
    else this.#shut("its worker has ended without it");
  };

  #shut(why: string): void {
    this.#why ??= why;
    this.#lost.abort();
  }
}
