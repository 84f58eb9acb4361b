import type {
  ClaimResponse,
  EnqueueRequest,
  EnqueueResponse,
  LeaseRequest,
} from "../../../capability/index.ts";
import type { InstantSource } from "../../../host-fixtures/clock.ts";
import {
  type Job,
  type JobTable,
  retireExhausted,
  returnExpired,
} from "../../../host-fixtures/memory-job.ts";
import { type JobTimes, MemoryJobStore } from "../../../host-fixtures/memory-job-store.ts";
import type { Call } from "../../../plugin/call.ts";
import type { JobId } from "../../../plugin/job-id.ts";
import { hashLeaseToken } from "../../../plugin/lease-token.ts";
import type { LeaseProof, NewJob } from "../../../plugin/store/job-store.ts";
import type { Answer, QueueCall } from "./queue-call.ts";

/** What the model says to a call, its ids and tokens its own. */
export interface ModelAnswer {
  readonly told: Answer;
  /** The job that an enqueue or a claim is about. */
  readonly job?: JobId;
  readonly tokenHash?: string;
}

/** One state in which a queue may be, by the reference model, and what its ids and tokens are called on the wire. */
export class QueueModel {
  readonly #times: JobTimes;
  readonly #clock: InstantSource;
  readonly #table: JobTable;
  #names: Names;
  /** A state and its copy share the names until one of the two learns another. */
  #namesAreShared = false;

  constructor(times: JobTimes, clock: InstantSource, from?: QueueModel) {
    this.#times = times;
    this.#clock = clock;
    this.#table = { byRow: new Map(), byKey: new Map() };
    this.#names = from
      ? from.#names
      : { wireId: new Map(), job: new Map(), proof: new Map(), token: new Map() };
    if (from) this.#namesAreShared = from.#namesAreShared = true;
    for (const [key, job] of from ? from.#table.byKey : []) {
      // No call changes a job that has an outcome.
      const copy = job.place.is === "outcome" ? job : { ...job };
      this.#table.byRow.set(job.id.row, copy);
      this.#table.byKey.set(key, copy);
    }
  }

  clone(): QueueModel {
    return new QueueModel(this.#times, this.#clock, this);
  }

  /** Whether leases have expired that nobody has taken back yet. */
  get hasExpired(): boolean {
    const now = this.#clock.instant;
    for (const { place } of this.#table.byRow.values()) {
      if (place.is === "lease" && place.expiresAt <= now) return true;
    }
    return false;
  }

  /** Whether a claim would find a job without taking any back. */
  get hasDue(): boolean {
    const now = this.#clock.instant;
    for (const { place, nextRun } of this.#table.byRow.values()) {
      if (place.is === "ready" && nextRun <= now) return true;
    }
    return false;
  }

  /** Takes back all expired leases. */
  reap(): void {
    const jobs = [...this.#table.byRow.values()];
    retireExhausted(jobs, this.#clock.instant, jobs.length);
    returnExpired(jobs, this.#clock.instant);
  }

  fence(): void {
    new MemoryJobStore(this.#times, this.#clock, this.#table).fence();
  }

  /** Carries a call out. `withoutReaping`: a claim takes what is ready and does not look at expired leases. */
  async perform(call: QueueCall, withoutReaping = false): Promise<ModelAnswer> {
    const store = new MemoryJobStore(this.#times, this.#clock, this.#table);
    switch (call.verb) {
      case "enqueue": {
        const verdict = await store.enqueue(newJob(call.caller, call.request), anybody);
        if (verdict.kind === "conflict") return { told: { refused: "idempotency_conflict" } };
        const job_id = this.#names.wireId.get(verdict.id.row) ?? "";
        return { told: { value: { job_id, created: verdict.kind === "created" } }, job: verdict.id };
      }
      case "claim":
        return this.#claim(call, withoutReaping ? this.#readyOnly() : store);
      case "renew": {
        const proof = this.#proof(call);
        const lease_expires_at = proof && (await store.renew(proof, anybody));
        return { told: lease_expires_at ? { value: { lease_expires_at } } : invalidLease };
      }
      case "complete": {
        const proof = this.#proof(call);
        const completed = proof !== undefined && (await store.complete(proof, anybody));
        return { told: completed ? { value: { completed } } : invalidLease };
      }
      case "fail": {
        const proof = this.#proof(call);
        const { failure_code: code, retryable } = call.failure;
        const verdict = proof && (await store.fail(proof, { code, retryable }, anybody));
        if (verdict === undefined) return { told: invalidLease };
        return { told: { value: { status: verdict.status, available_at: verdict.nextRun } } };
      }
      case "inspect":
        return this.#inspect(call.job_id, store);
    }
  }

  /** Whether an answer is the one that the model gave. */
  agrees(answer: Answer, model: ModelAnswer): boolean {
    if (model.job === undefined) return Bun.deepEquals(answer, model.told);
    if (!("value" in answer) || !("value" in model.told)) return false;
    const { job_id, lease_token: _token, ...said } = answer.value as EnqueueResponse & Partial<ClaimResponse>;
    const { job_id: _, ...expected } = model.told.value as EnqueueResponse;
    const known = this.#names.wireId.get(model.job.row);
    if (known === undefined ? this.#names.job.has(job_id) : known !== job_id) return false;
    return Bun.deepEquals(said, expected);
  }

  /** From an answer that agrees: what the wire calls the model's job and token. */
  learn(answer: Answer, model: ModelAnswer): void {
    if (model.job === undefined || !("value" in answer)) return;
    const { job_id, lease_token } = answer.value as EnqueueResponse & Partial<ClaimResponse>;
    if (!this.#names.wireId.has(model.job.row)) {
      const { wireId, job } = this.#ownNames();
      wireId.set(model.job.row, job_id);
      job.set(job_id, model.job);
    }
    if (lease_token !== undefined && model.tokenHash !== undefined) {
      const { proof, token } = this.#ownNames();
      proof.set(lease_token, { id: model.job, tokenHash: model.tokenHash, owner: "" });
      token.set(model.tokenHash, lease_token);
    }
  }

  #ownNames(): Names {
    if (this.#namesAreShared) {
      const { wireId, job, proof, token } = this.#names;
      this.#names = {
        wireId: new Map(wireId),
        job: new Map(job),
        proof: new Map(proof),
        token: new Map(token),
      };
      this.#namesAreShared = false;
    }
    return this.#names;
  }

  /** Equal for states that no sequence of calls can tell apart. */
  get fingerprint(): string {
    const { wireId, token } = this.#names;
    let text = "";
    for (const {
      id,
      asked,
      createdAt,
      updatedAt,
      nextRun,
      attempts,
      lastCode,
      place,
    } of this.#table.byRow.values()) {
      const holders = [
        place.is === "lease" ? place : undefined,
        place.is === "lease" ? place.before : place.settledBy,
      ].map((holder) => (holder ? `${holder.owner} ${token.get(holder.tokenHash) ?? ""}` : ""));
      const more =
        place.is === "lease"
          ? place.expiresAt
          : place.is === "outcome"
            ? `${place.status} ${String(place.settledBy?.operation)} ${String(place.settledBy?.retryable)}`
            : "";
      text += `${String(wireId.get(id.row))} ${asked.producer} ${asked.key} ${asked.intent} ${createdAt} ${updatedAt} ${nextRun} `;
      text += `${attempts} ${String(lastCode)} ${place.is} ${holders.join(" ")} ${more}\n`;
    }
    return text;
  }

  async #claim(call: QueueCall & { verb: "claim" }, store: MemoryJobStore): Promise<ModelAnswer> {
    const leased = await store.claim({ queue: call.queue, owner: call.caller }, anybody);
    if (leased === undefined) return { told: { refused: "no_job_available" } };
    const value = {
      job_id: this.#names.wireId.get(leased.id.row) ?? "",
      queue: call.queue,
      kind: leased.kind,
      payload: JSON.parse(leased.payload),
      attempt: leased.attempt,
      max_attempts: leased.maxAttempts,
      lease_expires_at: leased.expiresAt,
    } as ClaimResponse;
    return { told: { value }, job: leased.id, tokenHash: hashLeaseToken(leased.token) ?? "" };
  }

  async #inspect(job_id: string, store: MemoryJobStore): Promise<ModelAnswer> {
    const id = this.#names.job.get(job_id);
    const job = id && (await store.inspect(id, anybody));
    if (job === undefined) return { told: { refused: "job_not_found" } };
    const { queue, kind, status, attempts } = job;
    return {
      told: {
        value: {
          job_id,
          queue,
          kind,
          status,
          attempts,
          max_attempts: job.maxAttempts,
          available_at: job.availableAt,
          lease_expires_at: job.leaseExpiresAt,
          last_failure_code: job.lastFailureCode,
          created_at: job.createdAt,
          updated_at: job.updatedAt,
        },
      },
    };
  }

  #proof({
    caller,
    lease,
  }: {
    readonly caller: string;
    readonly lease: LeaseRequest;
  }): LeaseProof | undefined {
    const known = this.#names.proof.get(lease.lease_token);
    return known && { ...known, owner: caller };
  }

  /** A store that does not see the expired leases; the jobs are the same. */
  #readyOnly(): MemoryJobStore {
    const seen = [...this.#table.byRow].filter(([, job]) => !this.#isExpired(job));
    return new MemoryJobStore(this.#times, this.#clock, { byRow: new Map(seen), byKey: this.#table.byKey });
  }

  #isExpired(job: Job): boolean {
    return job.place.is === "lease" && job.place.expiresAt <= this.#clock.instant;
  }
}

/** What the model's ids and tokens are called on the wire, and the other way round. */
interface Names {
  readonly wireId: Map<string, string>;
  readonly job: Map<string, JobId>;
  readonly proof: Map<string, LeaseProof>;
  /** By the hash of the model's token. */
  readonly token: Map<string, string>;
}

const invalidLease: Answer = { refused: "invalid_lease" };

/** A caller who waits for ever. */
const anybody: Call = { caller: undefined, over: undefined, onOver: () => () => {} };

function newJob(producer: string, request: EnqueueRequest): NewJob {
  const { queue, kind, available_at: requestedAt, max_attempts: maxAttempts } = request;
  const payload = JSON.stringify(request.payload);
  // The plans write equal payloads equally, so this hash tells intents apart as the digest does.
  const intent = Bun.hash(JSON.stringify([queue, kind, payload, requestedAt, maxAttempts])).toString(36);
  return { producer, queue, kind, key: request.idempotency_key, payload, intent, requestedAt, maxAttempts };
}
