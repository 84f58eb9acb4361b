import type { JsonValue } from "../../capability/index.ts";
import type { ExecutionResult } from "../provider.ts";

/** One claimed attempt. */
export interface BackendClaim {
  readonly jobId: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly task: string;
  readonly input: JsonValue;
  readonly traceparent?: string;
  /** `performance.now()` taken before the claim was sent: the lease is reckoned from there. */
  readonly sentAt: number;
  /** `performance.now()` at which the backend takes the claim away whatever pulses say. Undefined: pulses prolong it for ever. */
  readonly endsAt?: number;
}

/** What a pulse found: still ours, no longer ours, or ours with a cancel request recorded. */
export type PulseAnswer = "held" | "lost" | "cancelled";

/** How an attempt ended, for the backend to record. `interrupted`: a stop or a time-out aborted it, which is a retryable attempt. */
export type AttemptOutcome =
  | ExecutionResult
  | { readonly ok: false; readonly error: "aborted"; readonly final: false; readonly afterSeconds?: never };

/** Hears of cancel requests; without a job id: of all that may have been missed. */
export type CancelListener = (jobId: string | undefined) => void;

/**
 * What the worker runtime needs of a queue; every verb is fenced by the claim and rejects when there is no answer. The runtime owns
 * order, retries, self-fencing and drain; the backend owns the statements.
 */
export interface WorkerBackend<Claim extends BackendClaim = BackendClaim> {
  /** How long a claim or a pulse holds, in ms, reckoned from before it was sent. */
  readonly leaseMs: number;
  /**
   * True: a claim that has just come proves by itself that the job is ours and not cancelled, so its attempt needs no first pulse.
   * Saves a call for each job. Default false.
   */
  readonly freshClaimIsProof?: boolean;
  /**
   * True: the end of an attempt and the next fetch, called together, cost less than one after the other. The slot is then free as soon as the
   * handler has ended. Default false.
   */
  readonly fetchesWhileSettling?: boolean;
  /**
   * Claims at most `count` due jobs. `stopping` aborts when the worker stops: a backend that can take a claim back before its answer then
   * does, and answers with what had come.
   */
  fetch(count: number, stopping?: AbortSignal): Promise<readonly Claim[]>;
  /** Proves ownership and prolongs the claim. */
  pulse(claim: Claim): Promise<PulseAnswer>;
  /** Records the end of an attempt; "lost" when the claim was no longer ours and nothing changed. Asking again is safe. */
  settle(claim: Claim, outcome: AttemptOutcome): Promise<"settled" | "lost">;
  /** Returns a claim that never entered its handler. */
  giveBack(claim: Claim): Promise<void>;
  /**
   * Resolves when a job may be claimable, at the latest after `timeoutMs` or when the signal aborts. A wake-up that came after the last
   * `fetch` had begun counts: it resolves at once.
   */
  wait(timeoutMs: number, signal: AbortSignal): Promise<void>;
  /**
   * Calls back when somebody has asked to cancel that job, or with undefined when any may have been meant: the runtime pulses the attempt,
   * or all of them, at once. A hint: one that is lost costs time until the next pulse, nothing else. Returns what ends it.
   */
  onCancelRequest?(listener: CancelListener): () => void;
}
