import {
  type CallResult,
  type ClaimResponse,
  hideSecrets,
  type JobsClient,
  type LeaseRequest,
  RuntimeFailureError,
  type SignalsClient,
  withoutFields,
} from "../../capability/index.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import type { AttemptOutcome, BackendClaim, WorkerBackend } from "../worker/backend.ts";
import { pause, processTime } from "../worker/time.ts";
import type { JobFailed } from "./execute-job.ts";
import { measureLeaseMs, shortestLeaseMs } from "./measure-lease.ts";

export interface JobsBackendOptions {
  readonly jobs: JobsClient;
  readonly signals?: SignalsClient;
  readonly queue: string;
  /** Undefined: learnt from the first job. */
  readonly leaseMs?: number;
  readonly callTimeoutMs: number;
}

interface JobClaim extends BackendClaim {
  readonly lease: LeaseRequest;
}

/** One queue of `lenso.jobs@1` as the worker runtime sees it. */
export class JobsBackend implements WorkerBackend<JobClaim> {
  readonly #options: JobsBackendOptions;
  #leaseMs: number | undefined;
  #lastFetchWasFull = false;
  /** A claim is a lease by itself, and this capability knows no cancellation. */
  readonly freshClaimIsProof = true;
  /** A completion and a claim that are called together share a statement. */
  readonly fetchesWhileSettling = true;

  constructor(options: JobsBackendOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs;
  }

  /** Until it has been learnt, the shortest lease that an Instance can have: too short is safe, and only costs renewals. */
  get leaseMs(): number {
    return this.#leaseMs ?? shortestLeaseMs;
  }

  /**
   * A claim is for one job. An idle queue is asked once; as soon as it gave a job, for all that there is room for. A claim that is cancelled
   * before its answer is undone by the Jobs Instance, and costs no attempt.
   */
  async fetch(count: number, stopping?: AbortSignal): Promise<readonly JobClaim[]> {
    const claims: JobClaim[] = [];
    if (!this.#lastFetchWasFull) {
      const first = await this.#claim(stopping);
      if (first === undefined) return [];
      claims.push(first);
    }
    const others = await Promise.allSettled(
      Array.from({ length: count - claims.length }, () => this.#claim(stopping)),
    );
    for (const claim of others) if (claim.status === "fulfilled" && claim.value) claims.push(claim.value);
    const failure = others.find((claim) => claim.status === "rejected");
    if (failure && claims.length === 0) throw failure.reason;
    this.#lastFetchWasFull = claims.length === count;
    const [one] = claims;
    if (one && this.#leaseMs === undefined) await this.#learnLease(one);
    return claims;
  }

  async pulse({ lease }: JobClaim): Promise<"held" | "lost"> {
    const renewed = await this.#options.jobs.renew({ ...lease }, this.#bound);
    return heldBy(renewed) ? "held" : "lost";
  }

  async settle({ lease }: JobClaim, outcome: AttemptOutcome | JobFailed): Promise<"settled" | "lost"> {
    const { jobs } = this.#options;
    if (outcome.ok) return heldBy(await jobs.complete({ ...lease }, this.#bound)) ? "settled" : "lost";
    const failure_code = "code" in outcome ? outcome.code : "worker_stopping";
    const failed = await jobs.fail({ ...lease, failure_code, retryable: !outcome.final }, this.#bound);
    return heldBy(failed) ? "settled" : "lost";
  }

  /** The capability has no way back to where a job was: a retryable failure costs the attempt. The runtime runs a last one instead. */
  async giveBack({ lease }: JobClaim): Promise<void> {
    const { jobs } = this.#options;
    heldBy(await jobs.fail({ ...lease, failure_code: "worker_stopping", retryable: true }, this.#bound));
  }

  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { signals, queue } = this.#options;
    if (signals === undefined) return pause(processTime, timeoutMs, signal);
    const timeout_ms = Math.min(Math.max(1, Math.floor(timeoutMs)), 60_000);
    const answer = await signals.wait(
      { queues: [queue], timeout_ms },
      { signal, timeoutMs: timeout_ms + 5000 },
    );
    if (answer.ok || signal.aborted) return;
    if (isClosing(answer.error)) return pause(processTime, timeoutMs, signal);
    throw callFailure(answer.error);
  }

  async #claim(stopping?: AbortSignal): Promise<JobClaim | undefined> {
    const sentAt = performance.now();
    const { jobs, queue } = this.#options;
    // Sooner than the runtime gives the whole fetch up: one claim without an answer must not spoil those beside it.
    const timeoutMs = this.#options.callTimeoutMs / 2;
    const claimed = await jobs.claim({ queue }, { timeoutMs, ...(stopping && { signal: stopping }) });
    if (claimed.ok) return claimOf(claimed.value, sentAt);
    const { error } = claimed;
    if (error.kind === "domain" && error.error === "no_job_available") return undefined;
    // The host is shutting down and will stop this worker, or it was stopped.
    if (isClosing(error) || stopping?.aborted) return undefined;
    if (error.kind === "domain")
      throw new TaskQueueError("invalid-options", "work", { cause: callFailure(error) });
    throw callFailure(error);
  }

  async #learnLease({ jobId, sentAt }: JobClaim): Promise<void> {
    const left = shortestLeaseMs / 2 - (performance.now() - sentAt);
    if (left > 0) this.#leaseMs = await measureLeaseMs(this.#options.jobs, jobId, left);
  }

  get #bound() {
    return { timeoutMs: this.#options.callTimeoutMs };
  }
}

function claimOf(job: ClaimResponse, sentAt: number): JobClaim {
  const { job_id, lease_token } = job;
  const claim: JobClaim = {
    jobId: job_id,
    attempt: job.attempt,
    maxAttempts: job.max_attempts,
    task: job.kind,
    input: job.payload,
    sentAt,
    lease: { job_id, lease_token },
  };
  return hideSecrets(claim, withoutFields<JobClaim>("input", "lease"));
}

type Failure = Extract<CallResult<unknown, string>, { readonly ok: false }>["error"];

/** Whether the lease was ours. @throws RuntimeFailureError when there was no answer. */
function heldBy(result: CallResult<unknown, string>): boolean {
  if (result.ok) return true;
  if (result.error.kind === "domain" && result.error.error === "invalid_lease") return false;
  throw callFailure(result.error);
}

function isClosing(error: Failure): boolean {
  return error.kind === "runtime" && error.error.kind === "admission_closed";
}

function callFailure(error: Failure): Error {
  if (error.kind === "runtime") return new RuntimeFailureError(error.error.kind, error.error.detail);
  const code = typeof error.error === "string" ? error.error : error.error.code;
  return new Error(`lenso.jobs@1 refused the call: ${code}`);
}
