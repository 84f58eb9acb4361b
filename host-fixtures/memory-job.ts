import type { JobId } from "../plugin/job-id.ts";
import type { NewJob } from "../plugin/store/job-store.ts";

/** The jobs of one Instance. They outlive the store, as a database does. */
export interface JobTable {
  readonly byRow: Map<string, Job>;
  readonly byKey: Map<string, Job>;
}

/** One job: what was asked for, what happened since, and where it is now. Instants compare as texts. */
export interface Job {
  readonly id: JobId;
  readonly asked: NewJob;
  readonly createdAt: string;
  updatedAt: string;
  nextRun: string;
  attempts: number;
  /** Grows with every claim and fence, and never shrinks. */
  generation: number;
  lastCode: string | null;
  place: Ready | Lease | Outcome;
}

interface Ready {
  readonly is: "ready";
  /** Who failed the attempt before, until the job is claimed again. */
  readonly settledBy?: Holder;
}

export interface Lease extends Holder {
  readonly is: "lease";
  readonly expiresAt: string;
  /** Who failed the attempt before, for a claim that is undone. */
  readonly before: Holder | undefined;
}

interface Outcome {
  readonly is: "outcome";
  readonly status: "succeeded" | "failed";
  /** Nobody, when the attempts were exhausted. `retryable` is what a `fail` asked for. */
  readonly settledBy?: Holder & { readonly operation: "complete" | "fail"; readonly retryable?: boolean };
}

export interface Holder {
  readonly owner: string;
  readonly tokenHash: string;
}

/** Expired leases without an attempt left: the jobs fail, those that expired first first. */
export function retireExhausted(jobs: readonly Job[], now: string, limit: number): void {
  const exhausted = expired(jobs, now).filter((job) => job.attempts === job.asked.maxAttempts);
  for (const job of exhausted.slice(0, limit)) {
    job.lastCode = "attempts_exhausted";
    put(job, { is: "outcome", status: "failed" }, now);
  }
}

/** Expired leases with attempts left: the jobs wait for their turn again, which comes from the lease's expiry. */
export function returnExpired(jobs: readonly Job[], now: string): void {
  for (const job of expired(jobs, now).filter((each) => each.attempts < each.asked.maxAttempts)) {
    job.nextRun = job.place.expiresAt;
    job.lastCode = "lease_expired";
    put(job, { is: "ready" }, now);
  }
}

function expired(jobs: readonly Job[], now: string): Leased[] {
  const leased = jobs.filter(isLeased);
  return leased.filter((job) => job.place.expiresAt <= now).sort(byExpiry);
}

/** Moves a job to its next place. Every change of state and every renewal goes through here. */
export function put(job: Job, place: Job["place"], now: string): void {
  job.place = place;
  job.updatedAt = now;
}

/** Next run time, then order of enqueue. */
export function byTurn(a: Job, b: Job): number {
  return compare(a.nextRun, b.nextRun) || byRow(a, b);
}

export function isHeldBy(held: Holder, by: Holder): boolean {
  return held.owner === by.owner && held.tokenHash === by.tokenHash;
}

type Leased = Job & { readonly place: Lease };

const isLeased = (job: Job): job is Leased => job.place.is === "lease";
const byExpiry = (a: Leased, b: Leased): number =>
  compare(a.place.expiresAt, b.place.expiresAt) || byRow(a, b);
const byRow = (a: Job, b: Job): number => Number(a.id.row) - Number(b.id.row);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
