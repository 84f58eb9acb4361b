import type { SignalsClient } from "../../capability/index.ts";
import type {
  AttemptOutcome,
  BackendClaim,
  CancelListener,
  PulseAnswer,
  WorkerBackend,
} from "../worker/backend.ts";
import { type ClaimAnswer, claimInRounds } from "../worker/claim-in-rounds.ts";
import { CarrierDeliveries } from "./carrier-deliveries.ts";
import { carrierKind } from "./carrier-job.ts";
import { dispatchRecord } from "./dispatch-record.ts";
import type { JobsQueue } from "./jobs-queue.ts";
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
  readonly #carriers: CarrierDeliveries;

  constructor(queue: JobsQueue, options: WorkerBackendOptions) {
    const { jobs, leaseSeconds, records, trouble } = queue;
    const { signals, pollIntervalMs } = options;
    this.leaseMs = leaseSeconds * 1000;
    this.#queue = queue;
    this.#options = options;
    const carriers = { jobs, signals, queue: records.queue, kind: carrierKind };
    this.#carriers = new CarrierDeliveries({ ...carriers, leaseSeconds, pollIntervalMs, trouble });
  }

  async fetch(count: number): Promise<readonly JobsClaim[]> {
    await this.#options.ready();
    return claimInRounds(count, () => this.#claim());
  }

  async pulse({ fence, leaseToken }: JobsClaim): Promise<PulseAnswer> {
    const { records, leaseSeconds } = this.#queue;
    const elapsedMs = await this.#carriers.renew({ jobId: fence.jobId, leaseToken });
    return elapsedMs === undefined
      ? "lost"
      : holdAttempt(records, fence, { seconds: leaseSeconds, elapsedMs });
  }

  async settle(claim: JobsClaim, outcome: AttemptOutcome): Promise<"settled" | "lost"> {
    const { records, batched } = this.#queue;
    const { fence, leaseToken } = claim;
    const settled = (await batched.settle({ fence, outcome })) ?? (await findSettlement(records, fence));
    if (settled === undefined) return "lost";
    if (settled.state === "pending") await dispatchRecord(this.#queue, settled);
    await this.#carriers.complete({ jobId: fence.jobId, leaseToken });
    return "settled";
  }

  async giveBack({ fence, leaseToken }: JobsClaim): Promise<void> {
    const next = await returnAttempt(this.#queue.records, fence);
    if (next === undefined) return; // taken from us meanwhile: the Jobs job is somebody else's
    if (next !== "cancelled") await dispatchRecord(this.#queue, next);
    await this.#carriers.complete({ jobId: fence.jobId, leaseToken });
  }

  wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return this.#carriers.wait(timeoutMs, signal);
  }

  onCancelRequest(listener: CancelListener): () => void {
    return this.#options.watchCancelRequests?.(listener) ?? (() => undefined);
  }

  /** Claims one Jobs job and starts its record's attempt. A delivery that does not match its record is completed as a no-op. */
  async #claim(): Promise<ClaimAnswer<JobsClaim>> {
    const { batched, leaseSeconds } = this.#queue;
    const delivery = await this.#carriers.claim();
    if (typeof delivery === "string") return delivery;
    const { fence, leaseToken, sentAt } = delivery;
    const lease = { jobId: fence.jobId, leaseToken };
    const started = await batched.start({ fence, sentAt, leaseSeconds }).catch(async (error: unknown) => {
      // Whether it started or not: the next delivery has a higher number, so it is handed on instead of left to expire.
      await this.#carriers.fail(lease, "record_unavailable", { retryable: true });
      throw error;
    });
    if (started?.state !== "running") {
      await this.#carriers.complete(lease);
      return "no-op";
    }
    const { task, input, attempt, maxAttempts, traceparent } = started;
    const claim = { jobId: fence.id, task, input, attempt, maxAttempts, sentAt, fence, leaseToken };
    return traceparent === null ? claim : { ...claim, traceparent };
  }
}
