import { callQuietly } from "../logger.ts";
import type { Execute, ProviderWorkerOptions, StopOptions, TaskWorker } from "../provider.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import { WorkerStopping } from "./abort-reasons.ts";
import { Attempt, type AttemptDeps } from "./attempt.ts";
import type { BackendClaim, WorkerBackend } from "./backend.ts";
import { backoffMs } from "./backoff.ts";
import { Outage } from "./outage.ts";
import { answerWithin, pause, processTime, type WorkerTime } from "./time.ts";

export interface RunWorkerOptions extends ProviderWorkerOptions {
  /** Longest time between two looks at an idle queue, in ms; wake-ups come sooner. Default 1000. */
  readonly pollIntervalMs?: number;
  /** How long the backend may fail to be asked for jobs before `done` rejects, in ms. Default 300 000. */
  readonly maxOutageMs?: number;
  /** Longest wait for one answer of the backend, in ms. Default 10 000. */
  readonly callTimeoutMs?: number;
  /** Told when the backend starts to fail, and about each attempt whose end could not be recorded. May throw: nobody listens. */
  readonly onError?: (error: unknown) => void;
  /** For tests. Default: the process's clock and timers. */
  readonly time?: WorkerTime;
}

/**
 * Starts the one worker runtime over a backend: claims up to `concurrency` jobs, runs each through {@link Attempt}, and goes on until
 * it is stopped, whatever the backend does meanwhile. With `maxJobs` it works what is due and ends.
 *
 * `done` rejects only when no job could be asked for during `maxOutageMs`, or when the backend rejects with a
 * `TaskQueueError` other than `provider-unavailable`: then the queue cannot work at all.
 */
export function runWorker<Claim extends BackendClaim>(
  backend: WorkerBackend<Claim>,
  execute: Execute,
  options: RunWorkerOptions,
): TaskWorker {
  return new RunningWorker(backend, execute, options);
}

class RunningWorker<Claim extends BackendClaim> implements TaskWorker {
  readonly done: Promise<void>;
  readonly #drained: Promise<void>;
  readonly #backend: WorkerBackend<Claim>;
  readonly #options: RunWorkerOptions;
  readonly #deps: AttemptDeps<Claim>;
  readonly #time: WorkerTime;
  readonly #attempts = new Set<Attempt<Claim>>();
  readonly #runs = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #aborting = false;
  #callOffGrace: (() => void) | undefined;
  readonly #leaving = Promise.withResolvers<void>();
  #slotFreed = Promise.withResolvers<void>();
  /** Claims that this worker may still take. */
  #left: number;
  /** Who was to be cancelled while a claim was under way: it may be among what comes. Undefined in it: anybody. */
  readonly #cancelledEarly = new Set<string | undefined>();
  #isFetching = false;

  constructor(backend: WorkerBackend<Claim>, execute: Execute, options: RunWorkerOptions) {
    const report = (error: unknown): void => callQuietly(() => options.onError?.(error));
    this.#backend = backend;
    this.#options = options;
    this.#time = options.time ?? processTime;
    this.#left = options.maxJobs ?? Number.POSITIVE_INFINITY;
    this.#deps = {
      backend,
      execute,
      time: this.#time,
      outage: new Outage(this.#time, report),
      timeoutMs: options.timeoutMs,
      callTimeoutMs: options.callTimeoutMs ?? 10_000,
      report,
    };
    this.done = this.#work();
    this.#drained = this.done.catch(() => {}); // also keeps a `done` that nobody awaits from being an unhandled rejection
  }

  stop({ abort = false, graceMs }: StopOptions = {}): Promise<void> {
    this.#stopping.abort();
    if (abort) {
      this.#aborting = true;
      for (const attempt of this.#attempts) attempt.abort(new WorkerStopping());
    }
    if (abort && graceMs !== undefined) {
      this.#callOffGrace?.();
      this.#callOffGrace = this.#time.after(graceMs, () => {
        this.#leaving.resolve();
        for (const attempt of this.#attempts) attempt.leave();
      });
    }
    return this.#drained;
  }

  async #work(): Promise<void> {
    const unlisten = this.#backend.onCancelRequest?.((jobId) => this.#pulseSoon(jobId));
    try {
      await Promise.race([this.#takeJobs(), this.#leaving.promise]);
    } finally {
      this.#stopping.abort();
      while (this.#runs.size > 0) await Promise.all(this.#runs);
      unlisten?.();
      this.#callOffGrace?.();
    }
  }

  async #takeJobs(): Promise<void> {
    let idleWakes = 0;
    while (!this.#isStopping && this.#left > 0) {
      const room = Math.min(this.#options.concurrency - this.#attempts.size, this.#left);
      if (room === 0) {
        await this.#untilSlotIsFree();
        continue;
      }
      const claims = await this.#fetch(room);
      if (claims === undefined) continue;
      this.#admit(claims);
      if (claims.length > 0) idleWakes = 0;
      if (claims.length >= room) continue; // a full claim: there may be more
      if (this.#options.maxJobs !== undefined) {
        if (claims.length === 0) return;
        continue;
      }
      // Others were woken for the same job: after a lost race look a little later, never much.
      if (idleWakes > 0 && claims.length === 0)
        await this.#pause(backoffMs(idleWakes, { firstMs: 2, capMs: 100 }));
      idleWakes = (await this.#wait()) === "woken" ? idleWakes + 1 : 0;
    }
  }

  /** Asks for jobs. Undefined when there was no answer; the pause has been made by then. @throws when the worker cannot go on. */
  async #fetch(count: number): Promise<readonly Claim[] | undefined> {
    const { outage, callTimeoutMs } = this.#deps;
    this.#isFetching = true;
    this.#cancelledEarly.clear();
    try {
      const late = (claims: readonly Claim[]): void => this.#returnOrRun(claims);
      const claims = await answerWithin(this.#time, callTimeoutMs, () => this.#backend.fetch(count), late);
      outage.succeeded("fetch");
      return claims;
    } catch (error) {
      if (error instanceof TaskQueueError && error.code !== "provider-unavailable") throw error;
      const { failures, forMs } = outage.failed("fetch", error);
      if (forMs >= (this.#options.maxOutageMs ?? 300_000))
        throw new TaskQueueError("provider-unavailable", "work", { cause: error });
      await this.#pause(backoffMs(failures));
      return undefined;
    } finally {
      this.#isFetching = false;
    }
  }

  /** A pulse of that job's attempt, or of all, so that a cancel request does not wait for the next one. */
  #pulseSoon(jobId: string | undefined): void {
    if (this.#isFetching) this.#cancelledEarly.add(jobId);
    for (const attempt of this.#attempts)
      if (jobId === undefined || attempt.jobId === jobId) attempt.pulseSoon();
  }

  #admit(claims: readonly Claim[]): void {
    if (this.#isStopping) return this.#returnOrRun(claims);
    this.#left -= claims.length;
    for (const claim of claims) this.#start(claim, (attempt) => attempt.run());
  }

  /** Claims that came too late: nothing was started for them, but a last attempt that is given back would be lost. */
  #returnOrRun(claims: readonly Claim[]): void {
    for (const claim of claims) {
      const isLast = claim.attempt >= claim.maxAttempts && !this.#aborting;
      this.#start(claim, (attempt) => (isLast ? attempt.run() : attempt.giveBack()));
    }
  }

  #start(claim: Claim, work: (attempt: Attempt<Claim>) => Promise<void>): void {
    const attempt = new Attempt(this.#deps, claim);
    if (this.#cancelledEarly.has(claim.jobId) || this.#cancelledEarly.has(undefined)) attempt.pulseSoon();
    this.#attempts.add(attempt);
    const run = work(attempt).finally(() => {
      this.#attempts.delete(attempt);
      this.#runs.delete(run);
      this.#slotFreed.resolve();
    });
    this.#runs.add(run);
  }

  async #untilSlotIsFree(): Promise<void> {
    this.#slotFreed = Promise.withResolvers<void>();
    await this.#orStopped(this.#slotFreed.promise);
  }

  /** Waits for work. `woken` when the backend was sooner than the polling interval. */
  async #wait(): Promise<"woken" | "timed out"> {
    const { outage } = this.#deps;
    const { pollIntervalMs = 1000 } = this.#options;
    const timeoutMs = pollIntervalMs * (0.8 + Math.random() / 5);
    const began = this.#time.now();
    try {
      await this.#orStopped(this.#backend.wait(timeoutMs, this.#stopping.signal));
      outage.succeeded("wait");
    } catch (error) {
      if (this.#isStopping) return "timed out";
      outage.failed("wait", error);
      await this.#pause(timeoutMs - (this.#time.now() - began));
    }
    return this.#time.now() - began < timeoutMs / 2 ? "woken" : "timed out";
  }

  #pause(ms: number): Promise<void> {
    return pause(this.#time, ms, this.#stopping.signal);
  }

  async #orStopped(work: Promise<void>): Promise<void> {
    const stopped = Promise.withResolvers<void>();
    const { signal } = this.#stopping;
    const stop = (): void => stopped.resolve();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.catch(() => {}); // after a stop nobody looks at it any more
    await Promise.race([work, stopped.promise]).finally(() => signal.removeEventListener("abort", stop));
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }
}
