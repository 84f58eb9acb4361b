import { setTimeout as sleep } from "node:timers/promises";
import type { ClaimResponse, SignalsClient } from "../../capability/index.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import type {
  AttemptOutcome,
  BackendClaim,
  CancelListener,
  PulseAnswer,
  WorkerBackend,
} from "../worker/backend.ts";
import { carrierKind, readCarrier } from "./carrier-job.ts";
import { checkLease } from "./check-lease.ts";
import { dispatchRecord } from "./dispatch-record.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";
import { holdAttempt } from "./records/hold-attempt.ts";
import type { Fence } from "./records/record-state.ts";
import { returnAttempt } from "./records/return-attempt.ts";
import { findSettlement } from "./records/settle-attempts.ts";

/** A started attempt: its place in the record, and the lease of the Jobs job that brought it. */
export interface JobsClaim extends BackendClaim {
  readonly fence: Fence;
  /** Secret. */
  readonly leaseToken: string;
}

export interface WorkerBackendOptions {
  readonly signals: SignalsClient | undefined;
  readonly pollIntervalMs: number;
  /** Resolves once the records and the Jobs capability are known to be usable; asked before every fetch. */
  ready(): Promise<void>;
  /** Calls back with each cancel request that is heard of. Returns what ends it. */
  watchCancelRequests?(listener: CancelListener): () => void;
}

/** What the worker runtime does on `lenso.jobs@1` and the record: the record is written first, then the Jobs job is settled. */
export class JobsWorkerBackend implements WorkerBackend<JobsClaim> {
  readonly leaseMs: number;
  /** Claiming starts the attempt in the record, which says that it is ours and not cancelled. */
  readonly freshClaimIsProof = true;
  readonly #queue: JobsQueue;
  readonly #options: WorkerBackendOptions;
  #leaseChecked = false;

  constructor(queue: JobsQueue, options: WorkerBackendOptions) {
    this.leaseMs = queue.leaseSeconds * 1000;
    this.#queue = queue;
    this.#options = options;
  }

  /** Claims in rounds of 1, 2, 4 … so that an idle queue costs one call and a full one few rounds. */
  async fetch(count: number): Promise<readonly JobsClaim[]> {
    await this.#options.ready();
    const claims: JobsClaim[] = [];
    for (let width = 1; claims.length < count; width *= 2) {
      const round = Array.from({ length: Math.min(width, count - claims.length) }, () => this.#claim());
      const answers = await Promise.allSettled(round);
      for (const answer of answers) {
        if (answer.status === "fulfilled" && typeof answer.value === "object") claims.push(answer.value);
      }
      const failed = answers.find((answer) => answer.status === "rejected");
      // What was claimed is worked on; a failure that lasts shows at the next fetch.
      if (failed && claims.length === 0) throw failed.reason;
      if (failed || answers.some((answer) => answer.status === "fulfilled" && answer.value === "empty"))
        break;
    }
    return claims;
  }

  async pulse({ fence, leaseToken }: JobsClaim): Promise<PulseAnswer> {
    const { jobs, records, leaseSeconds } = this.#queue;
    const sentAt = performance.now();
    const renewed = await jobs.renew({ job_id: fence.jobId, lease_token: leaseToken });
    if (!renewed.ok) {
      if (domainCode(renewed.error) === "invalid_lease") return "lost";
      throw new JobsRefusal("renew", renewed.error);
    }
    return holdAttempt(records, fence, { seconds: leaseSeconds, elapsedMs: performance.now() - sentAt });
  }

  async settle(claim: JobsClaim, outcome: AttemptOutcome): Promise<"settled" | "lost"> {
    const { records, batched } = this.#queue;
    const { fence } = claim;
    const settled = (await batched.settle({ fence, outcome })) ?? (await findSettlement(records, fence));
    if (settled === undefined) return "lost";
    if (settled.state === "pending") await dispatchRecord(this.#queue, settled);
    await this.#complete(claim.fence.jobId, claim.leaseToken);
    return "settled";
  }

  async giveBack({ fence, leaseToken }: JobsClaim): Promise<void> {
    const next = await returnAttempt(this.#queue.records, fence);
    if (next === undefined) return; // taken from us meanwhile: the Jobs job is somebody else's
    if (next !== "cancelled") await dispatchRecord(this.#queue, next);
    await this.#complete(fence.jobId, leaseToken);
  }

  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { signals, pollIntervalMs } = this.#options;
    const began = performance.now();
    if (signals !== undefined) {
      const limit = Math.max(1, Math.floor(Math.min(timeoutMs, 60_000)));
      const answer = await signals.wait(
        { queues: [this.#queue.records.queue], timeout_ms: limit },
        { signal },
      );
      if (signal.aborted) return;
      if (answer.ok) this.#queue.trouble.ends("signals");
      else this.#queue.trouble.begins("signals", new JobsRefusal("wait", answer.error));
      if (answer.ok && answer.value.queue !== null) return;
    }
    // Without signals, when they fail, and when they answer early because a host is stopping: the polling interval.
    const left = Math.min(timeoutMs, pollIntervalMs) - (performance.now() - began);
    if (left > 0) await sleep(left, undefined, { signal }).catch(() => undefined);
  }

  onCancelRequest(listener: CancelListener): () => void {
    return this.#options.watchCancelRequests?.(listener) ?? (() => undefined);
  }

  /** Claims one Jobs job and starts its record's attempt. A delivery that does not match its record is completed as a no-op. */
  async #claim(): Promise<JobsClaim | "empty" | "no-op"> {
    const { jobs, records, batched, leaseSeconds } = this.#queue;
    const sentAt = performance.now();
    const answer = await jobs.claim({ queue: records.queue });
    if (!answer.ok) {
      const code = domainCode(answer.error);
      if (code === "no_job_available") return "empty";
      const cause = new JobsRefusal("claim", answer.error);
      throw code === undefined ? cause : new TaskQueueError("invalid-options", "work", { cause });
    }
    const job = answer.value;
    await this.#checkLeaseOnce(job);
    const carrier = await this.#readOrFail(job);
    if (carrier === undefined) return "no-op";
    const fence = { ...carrier, jobId: job.job_id, delivery: job.attempt };
    const started = await batched.start({ fence, sentAt, leaseSeconds }).catch(async (error: unknown) => {
      // Whether it started or not: the next delivery has a higher number, so it is handed on instead of left to expire.
      await this.#fail(job, "record_unavailable", true);
      throw error;
    });
    if (started?.state !== "running") {
      await this.#complete(job.job_id, job.lease_token);
      return "no-op";
    }
    const { task, input, attempt, maxAttempts, traceparent } = started;
    const claim = {
      jobId: fence.id,
      task,
      input,
      attempt,
      maxAttempts,
      sentAt,
      fence,
      leaseToken: job.lease_token,
    };
    return traceparent === null ? claim : { ...claim, traceparent };
  }

  async #checkLeaseOnce(job: ClaimResponse): Promise<void> {
    if (this.#leaseChecked) return;
    try {
      this.#leaseChecked = await checkLease(this.#queue.jobs, job, this.#queue.leaseSeconds);
    } catch (error) {
      await this.#fail(job, "lease_not_checked", true);
      throw error;
    }
  }

  /** A job of another kind may be somebody's who shares the queue by mistake; one of ours that cannot be read never will be. */
  async #readOrFail(
    job: ClaimResponse,
  ): Promise<{ readonly id: string; readonly dispatch: number } | undefined> {
    if (job.kind !== carrierKind) {
      await this.#fail(job, "unknown_kind", true);
      return undefined;
    }
    const carrier = readCarrier(job);
    if (carrier === undefined) await this.#fail(job, "invalid_payload", false);
    return carrier;
  }

  /** Best effort, like completing: a Jobs job that stays open is delivered again, and its record decides. */
  async #fail(
    { job_id, lease_token }: ClaimResponse,
    failure_code: string,
    retryable: boolean,
  ): Promise<void> {
    const answer = await this.#queue.jobs.fail({ job_id, lease_token, failure_code, retryable });
    this.#note("fail", answer);
  }

  async #complete(job_id: string, lease_token: string): Promise<void> {
    this.#note("complete", await this.#queue.jobs.complete({ job_id, lease_token }));
  }

  #note(operation: string, answer: Awaited<ReturnType<JobsQueue["jobs"]["fail" | "complete"]>>): void {
    if (answer.ok || domainCode(answer.error) === "invalid_lease") this.#queue.trouble.ends(operation);
    else this.#queue.trouble.begins(operation, new JobsRefusal(operation, answer.error));
  }
}
