import type { ClaimedTask, ExecutionResult } from "../provider.ts";
import { type AbortReason, ClaimLost, HandlerLeft, JobCancelled, TimedOut } from "./abort-reasons.ts";
import { AttemptSignal } from "./attempt-signal.ts";
import type { AttemptOutcome, BackendClaim, PulseAnswer, WorkerBackend } from "./backend.ts";
import { backoffMs } from "./backoff.ts";
import { type Heartbeat, startHeartbeat } from "./heartbeat.ts";
import { Lease } from "./lease.ts";
import type { Outage, Verb } from "./outage.ts";
import { answerWithin, pause, type WorkerTime } from "./time.ts";

/** A claimed job as the worker runtime hands it on. */
export interface RunningTask extends ClaimedTask {
  /**
   * Aborts once the job is no longer this attempt's: its claim is lost, the job was cancelled, or the worker ended without it. Unlike `signal`,
   * which keeps its first reason, it does so whatever the attempt was told before, such as that the worker is stopping.
   */
  readonly gone: AbortSignal;
}

/** Runs a job to its end, as `Execute` does. */
export type ExecuteRunning = (running: RunningTask) => Promise<ExecutionResult>;

/** What every attempt of a worker shares. */
export interface AttemptDeps<Claim extends BackendClaim> {
  readonly backend: WorkerBackend<Claim>;
  readonly execute: ExecuteRunning;
  readonly time: WorkerTime;
  readonly outage: Outage;
  readonly timeoutMs: number | undefined;
  /** Longest wait for one answer of the backend, in ms. */
  readonly callTimeoutMs: number;
  readonly report: (error: unknown) => void;
  /** Told when a handler has ended and only its end is still to be recorded. */
  readonly onEnding: () => void;
}

/**
 * One attempt, in this order: prove ownership, time-out, heartbeat, handler, end of the heartbeat, settlement. A claim that is lost,
 * or can no longer be proven to be ours, is not settled: the job runs again under another claim.
 */
export class Attempt<Claim extends BackendClaim> {
  readonly #deps: AttemptDeps<Claim>;
  readonly #claim: Claim;
  readonly #lease: Lease;
  readonly #signal: AttemptSignal;
  readonly #left = Promise.withResolvers<void>();
  /** Calls off what this attempt still has running: timers, and a handler's heartbeat. */
  readonly #callOffs = new Set<() => void>();
  #handlerRuns = false;
  #isLeft = false;
  #isWatched = false;
  #isEnding = false;
  #heartbeat: Heartbeat | undefined;
  #pulseIsWanted = false;
  #lost: ClaimLost | undefined;
  #gone: AttemptSignal | undefined;
  #goneFor: AbortReason | undefined;

  constructor(deps: AttemptDeps<Claim>, claim: Claim) {
    this.#deps = deps;
    this.#claim = claim;
    this.#lease = new Lease(deps.time, claim.sentAt, deps.backend.leaseMs, claim.endsAt);
    this.#signal = new AttemptSignal(() => this.#fence());
  }

  get jobId(): string {
    return this.#claim.jobId;
  }

  /** The handler has ended; its end is being recorded. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  abort(reason: AbortReason): void {
    if (reason instanceof ClaimLost || reason instanceof JobCancelled) this.#goFor(reason);
    this.#signal.abort(reason);
  }

  /** Pulses as soon as that makes sense: somebody may have asked to cancel the job. */
  pulseSoon(): void {
    this.#pulseIsWanted = true;
    this.#heartbeat?.beatNow();
  }

  /** Ends the attempt here and now, for the end of a worker: its handler may run on, but nothing more is sent for it. */
  leave(): void {
    this.#isLeft = true;
    for (const callOff of this.#callOffs) callOff();
    const left = new HandlerLeft(this.#claim);
    this.#goFor(left);
    if (this.#handlerRuns) this.#deps.report(left);
    this.#left.resolve();
  }

  /** Runs the attempt to its end. Never rejects. */
  run(): Promise<void> {
    return this.#untilLeft(async () => {
      const owned = await this.#proveOwnership();
      if (owned === "lost") return;
      const enter = owned === "held" && this.#signal.reason === undefined;
      await this.#settle(enter ? await this.#handle() : interrupted);
    });
  }

  /** Returns the claim without entering the handler. Never rejects: what cannot be given back expires. */
  giveBack(): Promise<void> {
    return this.#untilLeft(async () => {
      await this.#persist("giveBack", () => this.#deps.backend.giveBack(this.#claim));
    });
  }

  async #untilLeft(work: () => Promise<void>): Promise<void> {
    await Promise.race([work().catch(this.#deps.report), this.#left.promise]);
  }

  async #proveOwnership(): Promise<PulseAnswer> {
    const { backend, time } = this.#deps;
    const age = time.now() - this.#claim.sentAt;
    if (backend.freshClaimIsProof === true && age < backend.leaseMs / 4) return "held";
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#pulse();
      } catch {
        if (this.#isOver) return "lost"; // the outage has been told of; the job will be claimed again
        await this.#pause(backoffMs(failures));
      }
    }
  }

  async #handle(): Promise<AttemptOutcome> {
    const { backend, execute, time, timeoutMs, report } = this.#deps;
    const { jobId, attempt, task, input, traceparent } = this.#claim;
    const { signal } = this.#signal;
    const goneSignal = (): AbortSignal => this.#goneSignal;
    if (timeoutMs !== undefined)
      this.#callOffs.add(time.after(timeoutMs, () => this.abort(new TimedOut(timeoutMs))));
    // Nothing can go wrong with a fresh lease before its first pulse: one timer less for a short handler.
    const everyMs = (): number => backend.leaseMs / 3;
    if (this.#lease.remainingMs <= everyMs()) this.#watchLease();
    const beat = async (): Promise<boolean> => {
      this.#watchLease();
      return (await this.#pulse()) !== "lost";
    };
    const heartbeat = startHeartbeat(time, everyMs, beat);
    this.#heartbeat = heartbeat;
    this.#callOffs.add(() => void heartbeat.stop());
    if (this.#pulseIsWanted) heartbeat.beatNow();
    this.#handlerRuns = true;
    const claimed = {
      jobId,
      attempt,
      task,
      input,
      signal,
      ...(traceparent === undefined ? {} : { traceparent }),
      get gone() {
        return goneSignal();
      },
    };
    let outcome: AttemptOutcome;
    try {
      outcome = await execute(claimed);
    } catch (error) {
      report(error);
      outcome = { ok: false, error: "handler-failed", final: false };
    }
    this.#handlerRuns = false;
    this.#fence(); // before the heartbeat ends: it knows whether the event loop was blocked
    for (const callOff of this.#callOffs) callOff();
    await heartbeat.stop();
    return outcome;
  }

  /** One pulse: prolongs the lease, or aborts the handler. Rejects when there was no answer. */
  async #pulse(): Promise<PulseAnswer> {
    const { backend, time, outage, callTimeoutMs } = this.#deps;
    const sentAt = time.now();
    const patience = Math.min(callTimeoutMs, backend.leaseMs / 3);
    let answer: PulseAnswer;
    try {
      answer = await answerWithin(time, patience, () => backend.pulse(this.#claim));
    } catch (error) {
      outage.failed("pulse", error);
      throw error;
    }
    outage.succeeded("pulse");
    if (answer === "lost") this.#lose("its claim is held by nobody or by another worker");
    else this.#lease.prolong(sentAt, backend.leaseMs);
    if (answer === "cancelled") this.abort(new JobCancelled());
    return answer;
  }

  /** Aborts the handler as soon as the lease can no longer be said to be ours. Once is enough. */
  #watchLease(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    let callOff = (): void => {};
    const watch = (): void => {
      if (this.#lease.isSafe) callOff = this.#deps.time.after(this.#lease.remainingMs, watch);
      else this.#fence();
    };
    this.#callOffs.add(() => callOff());
    watch();
  }

  #fence(): void {
    if (this.#lease.isSafe || this.#lost) return;
    if (this.#lease.isSpent) return this.#lose("its longest run is over");
    // The timer that watches the lease fires in time unless nothing could run: then a pulse, too, is long overdue.
    const { leaseMs } = this.#deps.backend;
    const blockedMs = Math.max(this.#lease.overdueMs, this.#heartbeat?.overdueMs ?? 0);
    const blocked = this.#lease.overdueMs > leaseMs / 10 || (this.#heartbeat?.overdueMs ?? 0) > leaseMs / 3;
    this.#lose(
      blocked
        ? `event loop blocked ${(blockedMs / 1000).toFixed(1)} s; lease lost`
        : "no pulse got through before the lease could expire",
    );
  }

  #lose(why: string): void {
    this.#lost ??= new ClaimLost(this.#claim, why);
    this.abort(this.#lost);
  }

  /** The job is no longer ours, for this reason or one before it. */
  #goFor(reason: AbortReason): void {
    this.#goneFor ??= reason;
    this.#gone?.abort(reason);
  }

  /** Made for whoever asks: most handlers never do. */
  get #goneSignal(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AttemptSignal(() => this.#fence());
      if (this.#goneFor !== undefined) this.#gone.abort(this.#goneFor);
    }
    return this.#gone.signal;
  }

  /** Records the end, unless the claim is gone: then nothing is sent, and `onError` hears why. */
  async #settle(outcome: AttemptOutcome): Promise<void> {
    const { backend, report, onEnding } = this.#deps;
    this.#fence();
    if (this.#isLeft) return;
    if (this.#lost) return report(this.#lost);
    this.#isEnding = true;
    onEnding();
    const verdict = await this.#persist("settle", () => backend.settle(this.#claim, outcome));
    if (verdict === "settled" || this.#isLeft) return;
    const why = verdict === "lost" ? "its claim was lost before its end was recorded" : noTimeLeft;
    report(new ClaimLost(this.#claim, why));
  }

  /** Asks until there is an answer or the lease's deadline has passed; then undefined. */
  async #persist<T>(verb: Verb, call: () => Promise<T>): Promise<T | undefined> {
    const { time, outage, callTimeoutMs } = this.#deps;
    for (let failures = 1; ; failures += 1) {
      try {
        const patience = this.#lease.isSafe
          ? Math.min(callTimeoutMs, this.#lease.remainingMs)
          : callTimeoutMs;
        const answer = await answerWithin(time, patience, call);
        outage.succeeded(verb);
        return answer;
      } catch (error) {
        outage.failed(verb, error);
      }
      await this.#pause(backoffMs(failures));
      if (this.#isOver) return undefined;
    }
  }

  /** Nothing more can be proven or recorded. */
  get #isOver(): boolean {
    return this.#isLeft || !this.#lease.isSafe;
  }

  async #pause(ms: number): Promise<void> {
    const over = new AbortController();
    const callOff = (): void => over.abort();
    this.#callOffs.add(callOff);
    await pause(this.#deps.time, Math.min(ms, this.#lease.remainingMs), over.signal);
    this.#callOffs.delete(callOff);
  }
}

const noTimeLeft = "its end could not be recorded before the lease could expire";
const interrupted: AttemptOutcome = { ok: false, error: "aborted", final: false };
