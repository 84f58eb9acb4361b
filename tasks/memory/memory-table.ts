import type { JsonValue } from "../../capability/index.ts";
import type { CancelOutcome, ErrorCode, JobState, JobStatus, ProviderEnqueue } from "../provider.ts";
import { retryDelayMs } from "../retry-delay.ts";

/** One job of the table. */
export interface MemoryJob {
  readonly jobId: string;
  readonly request: ProviderEnqueue;
  maxAttempts: number;
  attempt: number;
  state: JobState;
  /** Milliseconds since 1970 by the table's clock. */
  runAt: number;
  cancelRequested: boolean;
  result: JsonValue | null;
  error: ErrorCode | null;
  /** Error of the attempt before, for a claim that is given back. */
  errorBefore: ErrorCode | null;
  /** Raised by every claim and by every loss of one: the fence. */
  hold: number;
}

/** How an attempt ended. */
export type MemoryOutcome =
  | { readonly ok: true; readonly result: JsonValue | null }
  | {
      readonly ok: false;
      readonly error: ErrorCode;
      readonly final: boolean;
      readonly afterSeconds?: number;
    };

/** The jobs of one queue in memory. Every change of a state is a method here, and names the states it starts from. */
export class MemoryTable {
  readonly jobs: Map<string, MemoryJob> = new Map();
  readonly #onChange = new Set<() => void>();
  readonly #onCancelRequest = new Set<(jobId: string) => void>();
  #aheadMs = 0;

  /** The table's time: the process's, and as much ahead as it was advanced. */
  now(): number {
    return Date.now() + this.#aheadMs;
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
    this.#changed();
  }

  insert(jobId: string, request: ProviderEnqueue): void {
    this.jobs.set(jobId, {
      jobId,
      request,
      maxAttempts: request.maxAttempts,
      attempt: 0,
      state: "pending",
      runAt: request.runAt?.getTime() ?? this.now(),
      cancelRequested: false,
      result: null,
      error: null,
      errorBefore: null,
      hold: 0,
    });
    this.#changed();
  }

  /** pending, due → running, the earliest first. */
  claim(count: number): MemoryJob[] {
    const due = [...this.jobs.values()].filter(
      ({ state, runAt }) => state === "pending" && runAt <= this.now(),
    );
    const claimed = due.sort((a, b) => a.runAt - b.runAt).slice(0, count);
    for (const job of claimed) {
      job.state = "running";
      job.attempt += 1;
      job.hold += 1;
      job.errorBefore = job.error;
      job.error = null;
    }
    return claimed;
  }

  /** The job while that claim holds it. */
  held(jobId: string, hold: number): MemoryJob | undefined {
    const job = this.jobs.get(jobId);
    return job?.state === "running" && job.hold === hold ? job : undefined;
  }

  /** running → succeeded, failed, cancelled, or pending after the delay. False when that claim does not hold it. */
  settle(jobId: string, hold: number, outcome: MemoryOutcome): boolean {
    const job = this.held(jobId, hold);
    if (job === undefined) return false;
    if (job.cancelRequested) job.state = "cancelled";
    else if (outcome.ok) Object.assign(job, { state: "succeeded", result: outcome.result });
    else {
      job.error = outcome.error;
      const again = !outcome.final && job.attempt < job.maxAttempts;
      job.state = again ? "pending" : "failed";
      const delayMs = Math.max(
        retryDelayMs(job.request.retry, job.attempt),
        (outcome.afterSeconds ?? 0) * 1000,
      );
      if (again) job.runAt = this.now() + delayMs;
    }
    this.#changed();
    return true;
  }

  /** running → pending as it was before that claim, or cancelled when somebody asked for it meanwhile. */
  giveBack(jobId: string, hold: number): void {
    const job = this.held(jobId, hold);
    if (job === undefined) return;
    job.state = job.cancelRequested ? "cancelled" : "pending";
    job.attempt -= 1;
    job.error = job.cancelRequested ? null : job.errorBefore;
    this.#changed();
  }

  /** running → pending, cancelled, or failed when no attempt is left: what a worker's silence does. Its worker is told to pulse, and hears so. */
  lapse(): void {
    for (const job of this.jobs.values()) {
      if (job.state !== "running") continue;
      job.hold += 1;
      if (job.cancelRequested) job.state = "cancelled";
      else
        Object.assign(job, { state: job.attempt < job.maxAttempts ? "pending" : "failed", error: "aborted" });
      for (const listener of this.#onCancelRequest) listener(job.jobId);
    }
    this.#changed();
  }

  /** pending → cancelled; a running job keeps the request. */
  cancel(jobId: string): CancelOutcome {
    const job = this.jobs.get(jobId);
    if (job === undefined) return "missing";
    if (job.state === "pending") {
      Object.assign(job, { state: "cancelled", cancelRequested: true, error: null });
      this.#changed();
      return "cancelled";
    }
    if (job.state !== "running") return "terminal";
    job.cancelRequested = true;
    for (const listener of this.#onCancelRequest) listener(jobId);
    return "requested";
  }

  /** failed → pending with exactly one more attempt. */
  retry(jobId: string): boolean {
    const job = this.jobs.get(jobId);
    if (job?.state !== "failed") return false;
    Object.assign(job, { state: "pending", maxAttempts: job.attempt + 1, error: null, runAt: this.now() });
    job.cancelRequested = false;
    this.#changed();
    return true;
  }

  /** Forgets every job that has ended. */
  prune(): void {
    for (const [jobId, { state }] of this.jobs) {
      if (state !== "pending" && state !== "running") this.jobs.delete(jobId);
    }
  }

  /** When the next pending job is due, by the table's clock; undefined when none is pending. */
  get nextRunAt(): number | undefined {
    const times = [...this.jobs.values()]
      .filter(({ state }) => state === "pending")
      .map(({ runAt }) => runAt);
    return times.length === 0 ? undefined : times.reduce((first, time) => Math.min(first, time));
  }

  /** Calls back after every change that may make a job claimable. Returns what ends it. */
  onChange(listener: () => void): () => void {
    this.#onChange.add(listener);
    return () => void this.#onChange.delete(listener);
  }

  /** Calls back when a running job is to be cancelled, or has been taken away. Returns what ends it. */
  onCancelRequest(listener: (jobId: string) => void): () => void {
    this.#onCancelRequest.add(listener);
    return () => void this.#onCancelRequest.delete(listener);
  }

  #changed(): void {
    for (const listener of this.#onChange) listener();
  }
}

/** What `get` shows of a job. */
export function statusOf(job: MemoryJob): JobStatus {
  const { jobId, request, state, attempt, maxAttempts, cancelRequested, result, error } = job;
  return { jobId, task: request.task, state, attempt, maxAttempts, cancelRequested, result, error };
}
