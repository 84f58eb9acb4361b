import type { JsonValue } from "../../../capability/index.ts";
import type { AttemptOutcome, BackendClaim, CancelListener, PulseAnswer, WorkerBackend } from "../backend.ts";
import type { Verb } from "../outage.ts";
import { pause, type WorkerTime } from "../time.ts";

/** One job of the table. */
export interface MemoryJob {
  readonly jobId: string;
  readonly task: string;
  readonly input: JsonValue;
  readonly traceparent?: string;
  maxAttempts: number;
  attempt: number;
  state: "pending" | "running" | "succeeded" | "failed" | "cancelled";
  leaseUntil: number;
  cancelRequested: boolean;
  result: JsonValue | null;
  error: string | null;
  /** How many times a final state was written: never more than once. */
  finals: number;
}

/** A hook of a test, before the table is touched or before the answer goes back. What it throws is what the caller gets. */
export type Gate = (when: "before" | "after") => Promise<void> | void;

/** A worker backend over a table in memory: real claims, leases and fences, and gates where a test lets calls fail or wait. */
export class MemoryBackend implements WorkerBackend {
  readonly leaseMs: number;
  readonly freshClaimIsProof: boolean;
  fetchesWhileSettling = false;
  readonly jobs: Map<string, MemoryJob> = new Map();
  readonly gates: Partial<Record<Verb, Gate>> = {};
  /** How long a claim lasts at most, in ms, whatever pulses say. Undefined: for ever. */
  longestRunMs: number | undefined;
  /** Every call that reached the table, in order. */
  readonly log: string[] = [];
  readonly #time: WorkerTime;
  readonly #waiters = new Set<() => void>();
  readonly #cancelListeners = new Set<CancelListener>();

  constructor(
    time: WorkerTime,
    options: { readonly leaseMs?: number; readonly freshClaimIsProof?: boolean } = {},
  ) {
    const { leaseMs = 1000, freshClaimIsProof = false } = options;
    this.#time = time;
    this.leaseMs = leaseMs;
    this.freshClaimIsProof = freshClaimIsProof;
  }

  add(
    job: {
      readonly jobId?: string;
      readonly task?: string;
      readonly input?: JsonValue;
      readonly maxAttempts?: number;
      readonly traceparent?: string;
    } = {},
  ): MemoryJob {
    const stored: MemoryJob = {
      jobId: job.jobId ?? `job-${this.jobs.size + 1}`,
      task: job.task ?? "task",
      input: job.input ?? null,
      maxAttempts: job.maxAttempts ?? 3,
      attempt: 0,
      state: "pending",
      leaseUntil: 0,
      cancelRequested: false,
      result: null,
      error: null,
      finals: 0,
      ...(job.traceparent === undefined ? {} : { traceparent: job.traceparent }),
    };
    this.jobs.set(stored.jobId, stored);
    this.wake();
    return stored;
  }

  wake(): void {
    for (const waiter of this.#waiters) waiter();
  }

  fetch(count: number): Promise<readonly BackendClaim[]> {
    const sentAt = this.#time.now();
    return this.#through("fetch", `fetch ${count}`, () => {
      const due = [...this.jobs.values()].filter((job) => this.#isClaimable(job)).slice(0, count);
      return due.map((job) => {
        job.attempt += 1;
        job.state = "running";
        job.leaseUntil = this.#time.now() + this.leaseMs;
        const { jobId, attempt, maxAttempts, task, input, traceparent } = job;
        const ends = this.longestRunMs === undefined ? {} : { endsAt: sentAt + this.longestRunMs };
        const claim = { jobId, attempt, maxAttempts, task, input, sentAt, ...ends };
        return traceparent === undefined ? claim : { ...claim, traceparent };
      });
    });
  }

  pulse(claim: BackendClaim): Promise<PulseAnswer> {
    return this.#through("pulse", `pulse ${claim.jobId}/${claim.attempt}`, () => {
      const job = this.#held(claim);
      if (job === undefined) return "lost";
      job.leaseUntil = this.#time.now() + this.leaseMs;
      return job.cancelRequested ? "cancelled" : "held";
    });
  }

  settle(claim: BackendClaim, outcome: AttemptOutcome): Promise<"settled" | "lost"> {
    const end = outcome.ok ? "ok" : outcome.error;
    return this.#through("settle", `settle ${claim.jobId}/${claim.attempt} ${end}`, () => {
      const job = this.jobs.get(claim.jobId);
      if (job === undefined) return "lost";
      if (job.attempt === claim.attempt && job.state !== "running") return "settled"; // asked again
      if (this.#held(claim) === undefined) return "lost";
      const spent = job.attempt >= job.maxAttempts;
      if (job.cancelRequested) job.state = "cancelled";
      else if (outcome.ok) job.state = "succeeded";
      else job.state = outcome.final || spent ? "failed" : "pending";
      job.result = outcome.ok ? outcome.result : null;
      job.error = outcome.ok ? null : outcome.error;
      if (job.state !== "pending") job.finals += 1;
      return "settled";
    });
  }

  giveBack(claim: BackendClaim): Promise<void> {
    return this.#through("giveBack", `giveBack ${claim.jobId}/${claim.attempt}`, () => {
      const job = this.#held(claim);
      if (job === undefined) return;
      job.state = "pending";
      job.attempt -= 1;
    });
  }

  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    await this.gates.wait?.("before");
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    this.#waiters.add(wake);
    await pause(this.#time, timeoutMs, AbortSignal.any([signal, woken.signal]));
    this.#waiters.delete(wake);
  }

  onCancelRequest(listener: CancelListener): () => void {
    this.#cancelListeners.add(listener);
    return () => this.#cancelListeners.delete(listener);
  }

  /** Tells the workers that somebody has asked to cancel that job, or that they may have missed who. */
  tellCancelRequest(jobId?: string): void {
    for (const listener of this.#cancelListeners) listener(jobId);
  }

  /** How many workers listen for cancel requests. */
  get cancelListeners(): number {
    return this.#cancelListeners.size;
  }

  async #through<T>(verb: Verb, entry: string, work: () => T): Promise<T> {
    await this.gates[verb]?.("before");
    this.log.push(entry);
    const answer = work();
    await this.gates[verb]?.("after");
    return answer;
  }

  #isClaimable(job: MemoryJob): boolean {
    if (job.state === "pending") return true;
    return job.state === "running" && job.leaseUntil <= this.#time.now();
  }

  #held({ jobId, attempt }: BackendClaim): MemoryJob | undefined {
    const job = this.jobs.get(jobId);
    const held = job?.state === "running" && job.attempt === attempt && job.leaseUntil > this.#time.now();
    return held ? job : undefined;
  }
}
