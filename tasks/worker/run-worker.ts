import { callQuietly } from "../logger.ts";
import type { ProviderWorkerOptions, StopOptions, TaskWorker } from "../provider.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import { WorkerStopping } from "./abort-reasons.ts";
import { Attempt, type AttemptDeps, type ExecuteRunning } from "./attempt.ts";
import type { BackendClaim, WorkerBackend } from "./backend.ts";
import { backoffMs } from "./backoff.ts";
import { Outage } from "./outage.ts";
import { answerWithin, NoAnswer, pause, processTime, type WorkerTime } from "./time.ts";

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
  execute: ExecuteRunning,
  options: RunWorkerOptions,
): TaskWorker {
  return new RunningWorker(backend, execute, options);
}

/** How long a stop waits for the answer to a request for jobs that was given up before. A claim that comes later expires. */
const lateAnswerMs = 15_000;

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
  /** Requests for jobs that were given up and may still be answered: what they claim is ours to see to. */
  readonly #lateFetches = new Set<Promise<void>>();
  /** Last attempts that such an answer brought when no slot was free. They wait for one: to be given back could be their end. */
  readonly #held: Claim[] = [];

  constructor(backend: WorkerBackend<Claim>, execute: ExecuteRunning, options: RunWorkerOptions) {
    const report = (error: unknown): void => callQuietly(() => options.onError?.(error));
    const callTimeoutMs = options.callTimeoutMs ?? 10_000;
    this.#backend = backend;
    this.#options = options;
    this.#time = options.time ?? processTime;
    this.#left = options.maxJobs ?? Number.POSITIVE_INFINITY;
    this.#deps = {
      backend,
      execute,
      time: this.#time,
      outage: new Outage(this.#time, report, 30_000 + 3 * callTimeoutMs),
      timeoutMs: options.timeoutMs,
      callTimeoutMs,
      report,
      onEnding: () => this.#slotFreed.resolve(),
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
      await this.#untilLateFetchesEnd();
      this.#returnOrRun(this.#held.splice(0));
      while (this.#runs.size > 0) await Promise.all(this.#runs);
      unlisten?.();
      this.#callOffGrace?.();
    }
  }

  async #takeJobs(): Promise<void> {
    let idleWakes = 0;
    while (!this.#isStopping && this.#left > 0) {
      const room = this.#room;
      if (room <= 0) {
        await this.#untilSlotIsFree();
        continue;
      }
      const held = this.#held.shift();
      if (held !== undefined) {
        this.#admit([held]);
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
    const fetching = (async () => this.#backend.fetch(count, this.#stopping.signal))();
    try {
      const claims = await answerWithin(this.#time, callTimeoutMs, () => fetching);
      outage.succeeded("fetch");
      return claims;
    } catch (error) {
      if (error instanceof NoAnswer) this.#expectLate(fetching);
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

  #expectLate(fetching: Promise<readonly Claim[]>): void {
    const late = fetching
      .then(
        (claims) => this.#admitLate(claims),
        () => {},
      )
      .finally(() => this.#lateFetches.delete(late));
    this.#lateFetches.add(late);
  }

  /** Runs what there is room for; a request for other jobs may have filled the slots meanwhile. */
  #admitLate(claims: readonly Claim[]): void {
    for (const claim of claims) {
      if (this.#isStopping) this.#returnOrRun([claim]);
      else if (this.#room > 0) this.#admit([claim]);
      else if (isLastAttempt(claim)) this.#held.push(claim);
      else this.#start(claim, (attempt) => attempt.giveBack());
      // Who was to be cancelled since it was sent is not known any more: the attempt finds out.
      this.#pulseSoon(claim.jobId);
    }
  }

  async #untilLateFetchesEnd(): Promise<void> {
    if (this.#lateFetches.size === 0) return;
    const over = new AbortController();
    const bound = pause(this.#time, lateAnswerMs, over.signal);
    await Promise.race([Promise.all(this.#lateFetches), this.#leaving.promise, bound]);
    over.abort();
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
      const isLast = isLastAttempt(claim) && !this.#aborting;
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

  /** Free slots, at most as many as jobs may still be taken. Below 0 while claims are given back beside full slots. */
  get #room(): number {
    const { concurrency } = this.#options;
    let taken = this.#attempts.size;
    if (this.#backend.fetchesWhileSettling) {
      for (const attempt of this.#attempts) if (attempt.isEnding) taken -= 1;
      // When ends cannot be recorded, what waits for that must not grow.
      taken = Math.max(taken, this.#attempts.size - concurrency);
    }
    return Math.min(concurrency - taken, this.#left);
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }
}

function isLastAttempt({ attempt, maxAttempts }: BackendClaim): boolean {
  return attempt >= maxAttempts;
}
