import { setTimeout as sleep } from "node:timers/promises";
import type { ClaimResponse, JobsClient, SignalsClient } from "../../capability/index.ts";
import { readCarrier } from "./carrier-job.ts";
import { checkLease } from "./check-lease.ts";
import type { Trouble } from "./jobs-queue.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";
import type { Fence } from "./records/record-state.ts";
import { refusedByJobs } from "./refused-by-jobs.ts";

/** One queue of a Jobs Instance that carries records to workers. */
export interface CarrierQueue {
  readonly jobs: JobsClient;
  readonly signals: SignalsClient | undefined;
  readonly queue: string;
  /** The kind of every carrier. */
  readonly kind: string;
  readonly leaseSeconds: number;
  readonly pollIntervalMs: number;
  readonly trouble: Trouble;
}

/** A carrier that was claimed. */
export interface CarrierDelivery {
  readonly fence: Fence;
  /** Secret. */
  readonly leaseToken: string;
  /** `performance.now()` from before the claim was sent. */
  readonly sentAt: number;
}

/** The lease of a claimed carrier. */
export interface CarrierLease {
  readonly jobId: string;
  readonly leaseToken: string;
}

/** What a worker does with carriers: claim, renew, complete, fail, wait. Settling one is best effort: its record decides. */
export class CarrierDeliveries {
  readonly #queue: CarrierQueue;
  #leaseChecked = false;

  constructor(queue: CarrierQueue) {
    this.#queue = queue;
  }

  /**
   * Claims one carrier. A job that is none is failed.
   *
   * @throws TaskQueueError `invalid-options` when the queue cannot be worked at all. @throws JobsRefusal when there was no answer.
   */
  async claim(): Promise<CarrierDelivery | "empty" | "no-op"> {
    const { jobs, queue } = this.#queue;
    const sentAt = performance.now();
    const answer = await jobs.claim({ queue });
    if (!answer.ok) {
      const code = domainCode(answer.error);
      if (code === "no_job_available") return "empty";
      const refusal = new JobsRefusal("claim", answer.error);
      throw code === undefined ? refusal : refusedByJobs(refusal, queue, "work");
    }
    const job = answer.value;
    const lease = { jobId: job.job_id, leaseToken: job.lease_token };
    await this.#checkLeaseOnce(job, lease);
    const carrier = await this.#readOrFail(job, lease);
    if (carrier === undefined) return "no-op";
    const fence = { ...carrier, jobId: job.job_id, delivery: job.attempt };
    return { fence, leaseToken: job.lease_token, sentAt };
  }

  /** Renews the lease, and answers how long ago that was sent, in ms; undefined when it is no longer ours. @throws JobsRefusal */
  async renew({ jobId, leaseToken }: CarrierLease): Promise<number | undefined> {
    const sentAt = performance.now();
    const renewed = await this.#queue.jobs.renew({ job_id: jobId, lease_token: leaseToken });
    if (renewed.ok) return performance.now() - sentAt;
    if (domainCode(renewed.error) === "invalid_lease") return undefined;
    throw new JobsRefusal("renew", renewed.error);
  }

  /** A carrier that stays open is delivered again, and its record decides: so trouble is only told. */
  async fail(
    { jobId, leaseToken }: CarrierLease,
    failure_code: string,
    { retryable }: { readonly retryable: boolean },
  ): Promise<void> {
    const lease = { job_id: jobId, lease_token: leaseToken };
    this.#note("fail", await this.#queue.jobs.fail({ ...lease, failure_code, retryable }));
  }

  /** As {@link fail}. */
  async complete({ jobId, leaseToken }: CarrierLease): Promise<void> {
    const answer = await this.#queue.jobs.complete({ job_id: jobId, lease_token: leaseToken });
    this.#note("complete", answer);
  }

  /** Resolves when a carrier may be claimable, at the latest after `timeoutMs` or when the signal aborts. */
  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { signals, queue, pollIntervalMs, trouble } = this.#queue;
    const began = performance.now();
    if (signals !== undefined) {
      const limit = Math.max(1, Math.floor(Math.min(timeoutMs, 60_000)));
      const answer = await signals.wait({ queues: [queue], timeout_ms: limit }, { signal });
      if (signal.aborted) return;
      if (answer.ok) trouble.ends("signals");
      else trouble.begins("signals", new JobsRefusal("wait", answer.error));
      if (answer.ok && answer.value.queue !== null) return;
    }
    // Without signals, when they fail, and when they answer early because a host is stopping: the polling interval.
    const left = Math.min(timeoutMs, pollIntervalMs) - (performance.now() - began);
    if (left > 0) await sleep(left, undefined, { signal }).catch(() => undefined);
  }

  async #checkLeaseOnce(job: ClaimResponse, lease: CarrierLease): Promise<void> {
    if (this.#leaseChecked) return;
    try {
      this.#leaseChecked = await checkLease(this.#queue.jobs, job, this.#queue.leaseSeconds);
    } catch (error) {
      await this.fail(lease, "lease_not_checked", { retryable: true });
      throw error;
    }
  }

  /** A job of another kind may be somebody's who shares the queue by mistake; one of ours that cannot be read never will be. */
  async #readOrFail(
    job: ClaimResponse,
    lease: CarrierLease,
  ): Promise<{ readonly id: string; readonly dispatch: number } | undefined> {
    if (job.kind !== this.#queue.kind) {
      await this.fail(lease, "unknown_kind", { retryable: true });
      return undefined;
    }
    const carrier = readCarrier(job);
    if (carrier === undefined) await this.fail(lease, "invalid_payload", { retryable: false });
    return carrier;
  }

  #note(operation: string, answer: Awaited<ReturnType<JobsClient["fail" | "complete"]>>): void {
    const { trouble } = this.#queue;
    if (answer.ok || domainCode(answer.error) === "invalid_lease") trouble.ends(operation);
    else trouble.begins(operation, new JobsRefusal(operation, answer.error));
  }
}
