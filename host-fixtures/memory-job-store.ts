import { createHash, randomBytes } from "node:crypto";
import type { Call } from "../plugin/call.ts";
import type { JobId } from "../plugin/job-id.ts";
import { formatLeaseToken } from "../plugin/lease-token.ts";
import type {
  EnqueueVerdict,
  Failure,
  FailVerdict,
  JobEvidence,
  JobStore,
  LeasedJob,
  LeaseProof,
  NewJob,
} from "../plugin/store/job-store.ts";
import { addMilliseconds, type InstantSource } from "./clock.ts";
import {
  byTurn,
  type Holder,
  isHeldBy,
  type Job,
  type JobTable,
  type Lease,
  put,
  retireExhausted,
  returnExpired,
} from "./memory-job.ts";

/** The part of an Instance's configuration that decides what becomes of a job. */
export interface JobTimes {
  readonly lease_seconds: number;
  readonly retry_base_seconds: number;
  readonly retry_max_seconds: number;
}

/** How many exhausted jobs one claim retires at most. */
const retiredByOneClaim = 64;

/**
 * The reference model of the job store: the states of the contract in plain code. Every verb runs to its end without a
 * pause, so calls happen one after the other.
 */
export class MemoryJobStore implements JobStore {
  readonly #times: JobTimes;
  readonly #clock: InstantSource;
  readonly #table: JobTable;

  constructor(
    times: JobTimes,
    clock: InstantSource,
    table: JobTable = { byRow: new Map(), byKey: new Map() },
  ) {
    this.#times = times;
    this.#clock = clock;
    this.#table = table;
  }

  async enqueue(asked: NewJob, call: Call): Promise<EnqueueVerdict> {
    refuseIfOver(call);
    const { byRow, byKey } = this.#table;
    const key = `${asked.producer} ${asked.key}`;
    const existing = byKey.get(key);
    if (existing) {
      return existing.asked.intent === asked.intent
        ? { kind: "existing", id: existing.id }
        : { kind: "conflict" };
    }
    const now = this.#clock.instant;
    const id = { row: String(byRow.size + 1), nonce: randomBytes(10).toString("hex") };
    const job: Job = {
      id,
      asked,
      createdAt: now,
      updatedAt: now,
      nextRun: asked.requestedAt > now ? asked.requestedAt : now,
      attempts: 0,
      generation: 0,
      lastCode: null,
      place: { is: "ready" },
    };
    byRow.set(id.row, job);
    byKey.set(key, job);
    return { kind: "created", id };
  }

  async claim(
    { queue, owner }: { readonly queue: string; readonly owner: string },
    call: Call,
  ): Promise<LeasedJob | undefined> {
    refuseIfOver(call);
    const now = this.#clock.instant;
    const jobs = [...this.#table.byRow.values()].filter((job) => job.asked.queue === queue);
    retireExhausted(jobs, now, retiredByOneClaim);
    returnExpired(jobs, now);
    const job = jobs.filter((each) => each.place.is === "ready" && each.nextRun <= now).sort(byTurn)[0];
    if (job === undefined) return undefined;

    const random = randomBytes(32);
    const lease: Lease = {
      is: "lease",
      owner,
      tokenHash: sha256(random),
      expiresAt: this.#leaseFrom(now),
      before: job.place.is === "ready" ? job.place.settledBy : undefined,
    };
    job.attempts += 1;
    job.generation += 1;
    put(job, lease, now);

    await Promise.resolve(); // the answer's way back, on which the call may end
    if (call.over) {
      this.#undo(job, lease);
      throw call.over;
    }
    return {
      id: job.id,
      kind: job.asked.kind,
      payload: job.asked.payload,
      attempt: job.attempts,
      maxAttempts: job.asked.maxAttempts,
      token: formatLeaseToken(random),
      expiresAt: lease.expiresAt,
    };
  }

  async renew(proof: LeaseProof, call: Call): Promise<string | undefined> {
    refuseIfOver(call);
    const now = this.#clock.instant;
    const held = this.#validLease(proof, now);
    if (held === undefined) return undefined;
    const expiresAt = this.#leaseFrom(now);
    put(held.job, { ...held.lease, expiresAt }, now);
    return expiresAt;
  }

  async complete(proof: LeaseProof, call: Call): Promise<boolean> {
    refuseIfOver(call);
    const now = this.#clock.instant;
    const held = this.#validLease(proof, now);
    if (held) {
      put(
        held.job,
        { is: "outcome", status: "succeeded", settledBy: { ...holderOf(proof), operation: "complete" } },
        now,
      );
      return true;
    }
    const place = this.#find(proof.id)?.place;
    return (
      place?.is === "outcome" && place.settledBy?.operation === "complete" && isHeldBy(place.settledBy, proof)
    );
  }

  async fail(proof: LeaseProof, { code, retryable }: Failure, call: Call): Promise<FailVerdict | undefined> {
    refuseIfOver(call);
    const now = this.#clock.instant;
    const held = this.#validLease(proof, now);
    if (held === undefined) return this.#repeatedFail(proof, { code, retryable });
    const { job } = held;
    job.lastCode = code;
    if (retryable && job.attempts < job.asked.maxAttempts) {
      job.nextRun = this.#retryFrom(now, job.attempts);
      put(job, { is: "ready", settledBy: holderOf(proof) }, now);
      return { status: "queued", nextRun: job.nextRun };
    }
    put(
      job,
      { is: "outcome", status: "failed", settledBy: { ...holderOf(proof), operation: "fail", retryable } },
      now,
    );
    return { status: "failed", nextRun: null };
  }

  async inspect(id: JobId, call: Call): Promise<JobEvidence | undefined> {
    refuseIfOver(call);
    const job = this.#find(id);
    if (job === undefined) return undefined;
    const { asked, place } = job;
    return {
      queue: asked.queue,
      kind: asked.kind,
      status: place.is === "ready" ? "queued" : place.is === "lease" ? "running" : place.status,
      attempts: job.attempts,
      maxAttempts: asked.maxAttempts,
      availableAt: job.nextRun,
      leaseExpiresAt: place.is === "lease" ? place.expiresAt : null,
      lastFailureCode: job.lastCode,
      createdAt: job.createdAt,
      updatedAt: job.updatedAt,
    };
  }

  /** What the plugin does in the background: retires and returns expired jobs of all queues. */
  maintain(): void {
    const now = this.#clock.instant;
    const jobs = [...this.#table.byRow.values()];
    retireExhausted(jobs, now, Number.POSITIVE_INFINITY);
    returnExpired(jobs, now);
  }

  /** What the operator does after a restore: voids every lease. The jobs are then as if their leases had expired. */
  fence(): void {
    const now = this.#clock.instant;
    for (const job of this.#table.byRow.values()) {
      if (job.place.is !== "lease") continue;
      job.generation += 1;
      job.place = { ...job.place, tokenHash: randomBytes(32).toString("hex"), expiresAt: now };
    }
  }

  #find(id: JobId): Job | undefined {
    const job = this.#table.byRow.get(id.row);
    return job?.id.nonce === id.nonce ? job : undefined;
  }

  #validLease(proof: LeaseProof, now: string): { readonly job: Job; readonly lease: Lease } | undefined {
    const job = this.#find(proof.id);
    const lease = job?.place;
    return job && lease?.is === "lease" && isHeldBy(lease, proof) && lease.expiresAt > now
      ? { job, lease }
      : undefined;
  }

  /** The answer of the very call that settled the attempt, while nobody has claimed the job since. */
  #repeatedFail(proof: LeaseProof, { code, retryable }: Failure): FailVerdict | undefined {
    const job = this.#find(proof.id);
    const place = job?.place;
    if (!job || job.lastCode !== code || !place || place.is === "lease") return undefined;
    if (!place.settledBy || !isHeldBy(place.settledBy, proof)) return undefined;
    if (place.is === "ready") return retryable ? { status: "queued", nextRun: job.nextRun } : undefined;
    const same = place.settledBy.operation === "fail" && place.settledBy.retryable === retryable;
    return same ? { status: "failed", nextRun: null } : undefined;
  }

  /** Takes back a claim that nobody received: the number of the attempt was never handed out, the generation was used. */
  #undo(job: Job, lease: Lease): void {
    if (job.place !== lease) return; // expired and reclaimed, or fenced, meanwhile
    job.attempts -= 1;
    put(job, { is: "ready", ...(lease.before && { settledBy: lease.before }) }, this.#clock.instant);
  }

  #leaseFrom(now: string): string {
    return addMilliseconds(now, this.#times.lease_seconds * 1000);
  }

  #retryFrom(now: string, attempts: number): string {
    const { retry_base_seconds: base, retry_max_seconds: max } = this.#times;
    return addMilliseconds(now, Math.min(base * 2 ** (attempts - 1), max) * 1000);
  }
}

/** Nobody waits for a call that was over before it began. */
function refuseIfOver(call: Call): void {
  if (call.over) throw call.over;
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const holderOf = ({ owner, tokenHash }: LeaseProof): Holder => ({ owner, tokenHash });
