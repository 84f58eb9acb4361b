import type { JsonValue } from "../../../capability/index.ts";
import { CarrierDeliveries, type CarrierDelivery } from "../../../tasks/jobs/carrier-deliveries.ts";
import type { ExecutionResult } from "../../../tasks/provider.ts";
import type { RunningTask } from "../../../tasks/worker/attempt.ts";
import type {
  AttemptOutcome,
  BackendClaim,
  CancelListener,
  PulseAnswer,
  WorkerBackend,
} from "../../../tasks/worker/backend.ts";
import { type ClaimAnswer, claimInRounds } from "../../../tasks/worker/claim-in-rounds.ts";
import { jobCarrierKind } from "../dispatch-job.ts";
import type { HostParts } from "../host-parts.ts";
import type { AttemptWork } from "./attempt-work.ts";
import { executeAttempt } from "./execute-attempt.ts";
import { holdAttempt } from "./records/hold-attempt.ts";
import { isOpen } from "./records/is-open.ts";
import { raiseFence } from "./records/raise-fence.ts";
import { type AttemptEnd, findSettlement, settleAttempt } from "./records/settle-attempt.ts";
import { type StartedAttempt, startAttempt } from "./records/start-attempt.ts";

/** A started attempt, and the lease of the Jobs job that brought it. */
export interface JobClaim extends BackendClaim {
  readonly work: AttemptWork;
  /** Secret. */
  readonly leaseToken: string;
}

/** What the worker runtime does with jobs of a host: the record is written first, then the Jobs job is settled. */
export class JobWorkerBackend implements WorkerBackend<JobClaim> {
  readonly leaseMs: number;
  /** Claiming starts the attempt in the record, which says that it is ours and not cancelled. */
  readonly freshClaimIsProof = true;
  readonly #parts: HostParts;
  readonly #ready: () => Promise<void>;
  readonly #carriers: CarrierDeliveries;

  /** `ready` is asked before every fetch, and resolves once attempts can be made. */
  constructor(parts: HostParts, ready: () => Promise<void>) {
    this.leaseMs = parts.leaseSeconds * 1000;
    this.#parts = parts;
    this.#ready = ready;
    this.#carriers = new CarrierDeliveries({ ...parts, kind: jobCarrierKind });
  }

  async fetch(count: number): Promise<readonly JobClaim[]> {
    await this.#ready();
    return claimInRounds(count, () => this.#claim());
  }

  /** Runs a claimed attempt. How it ended travels as the result of a task that succeeded. */
  async execute(running: RunningTask): Promise<ExecutionResult> {
    const end = await executeAttempt(this.#parts, running.input as unknown as AttemptWork, running);
    return { ok: true, result: end as unknown as JsonValue };
  }

  async pulse(claim: JobClaim): Promise<PulseAnswer> {
    const elapsedMs = await this.#carriers.renew(leaseOf(claim));
    if (elapsedMs === undefined) return "lost";
    const { attemptRecords, leaseSeconds } = this.#parts;
    return holdAttempt(attemptRecords, claim.work.fence, { seconds: leaseSeconds, elapsedMs });
  }

  async settle(claim: JobClaim, outcome: AttemptOutcome): Promise<"settled" | "lost"> {
    return this.#settle(claim, endOf(outcome));
  }

  async giveBack(claim: JobClaim): Promise<void> {
    await this.#settle(claim, stopped);
  }

  wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return this.#carriers.wait(timeoutMs, signal);
  }

  onCancelRequest(listener: CancelListener): () => void {
    return this.#parts.watch(listener);
  }

  async #settle(claim: JobClaim, end: AttemptEnd): Promise<"settled" | "lost"> {
    const { attemptRecords: records, dispatch } = this.#parts;
    const { fence } = claim.work;
    const settled = (await settleAttempt(records, fence, end)) ?? (await findSettlement(records, fence));
    // A job that was cancelled has its end: nothing is lost, and no delivery may run it again.
    if (settled === undefined && (await isOpen(records, fence.id))) return "lost";
    if (settled?.state === "queued") await dispatch(settled);
    await this.#carriers.complete(leaseOf(claim));
    return "settled";
  }

  /** Claims one Jobs job and starts its record's attempt. A delivery that does not match its record is completed as a no-op. */
  async #claim(): Promise<ClaimAnswer<JobClaim>> {
    const delivery = await this.#carriers.claim();
    if (typeof delivery === "string") return delivery;
    const { fence, leaseToken, sentAt } = delivery;
    const lease = { jobId: fence.jobId, leaseToken };
    const taken = await this.#take(delivery).catch(async (error: unknown) => {
      // Whether it started or not: the next delivery has a higher number, so it is handed on instead of left to expire.
      await this.#carriers.fail(lease, "record_unavailable", { retryable: true });
      throw error;
    });
    if (taken === "unknown provider") {
      // During a deploy an older worker may meet the job of a newer provider: another worker may know it.
      await this.#carriers.fail(lease, "unknown_provider", { retryable: true });
      return "no-op";
    }
    if (taken?.started.state !== "running") {
      await this.#carriers.complete(lease);
      return "no-op";
    }
    const { provider, started } = taken;
    const { attempt, input, configuration } = started;
    const work: AttemptWork = { fence, attempt, provider, input, configuration };
    return {
      jobId: fence.id,
      attempt,
      maxAttempts: attempt + 1, // giving back costs no attempt, so that none is the last one
      task: provider.descriptor.id,
      input: work as unknown as JsonValue, // the runtime passes it on to `execute` as it is
      sentAt,
      work,
      leaseToken,
    };
  }

  async #take({
    fence,
    sentAt,
  }: CarrierDelivery): Promise<
    | "unknown provider"
    | { readonly provider: AttemptWork["provider"]; readonly started: StartedAttempt }
    | undefined
  > {
    const { attemptRecords: records, providers, leaseSeconds, trouble } = this.#parts;
    const id = await raiseFence(records, fence);
    if (id === undefined) return undefined;
    const provider = providers.get(id);
    if (provider === undefined) {
      trouble.begins(
        `provider ${id}`,
        new Error(
          `a job of provider ${JSON.stringify(id)} came to a host that does not have it: give the host that provider, or cancel its jobs`,
        ),
      );
      return "unknown provider";
    }
    const started = await startAttempt(records, fence, { sentAt, seconds: leaseSeconds });
    return started && { provider, started };
  }
}

const stopped = { kind: "interrupted", spent: false, delaySeconds: 0 } as const;

function endOf(outcome: AttemptOutcome): AttemptEnd {
  if (outcome.ok) return outcome.result as unknown as AttemptEnd;
  return outcome.error === "aborted" ? stopped : { ...stopped, spent: true };
}

function leaseOf({ work, leaseToken }: JobClaim): { readonly jobId: string; readonly leaseToken: string } {
  return { jobId: work.fence.jobId, leaseToken };
}
