import type { Failure, FailVerdict, LeaseProof } from "./job-store.ts";
import { type CompleteLeases, completeLockedLease } from "./queries/complete-leases.ts";
import { type Backoff, type FailedAttempt, failFreeLeases, failLockedLease } from "./queries/fail-leases.ts";
import { renewFreeLeases, renewLockedLease } from "./queries/renew-leases.ts";
import type { LeaseSteps } from "./settle-batch.ts";
import type { SqlContext } from "./sql-context.ts";
import { rfc3339 } from "./timestamp-text.ts";

/** running → succeeded. */
export function completeSteps(sql: SqlContext, free: CompleteLeases): LeaseSteps<LeaseProof, boolean> {
  const locked = completeLockedLease(sql);
  return {
    proof: (lease) => lease,
    sameness: leaseKey,
    free,
    locked: async (db, lease) => ((await locked(db, lease)) ? true : undefined),
    replay: (_, where) => (where.kind === "settled" && where.operation === "c" ? true : undefined),
    refused: false,
  };
}

/** A verdict that may be a refusal, since `undefined` means "not decided yet" inside a batch. */
export type Refusable<Verdict> = Verdict | "refused";

/** running → queued, or running → failed. */
export function failSteps(
  sql: SqlContext,
  backoff: Backoff,
): LeaseSteps<FailedAttempt, Refusable<FailVerdict>> {
  const free = failFreeLeases(sql);
  const locked = failLockedLease(sql);
  return {
    proof: (attempt) => attempt.lease,
    sameness: ({ lease, failure }) => `${leaseKey(lease)} ${failure.code} ${failure.retryable}`,
    async free(db, attempts) {
      const rows = await free(db, attempts, backoff);
      const verdicts = new Map<string, Refusable<FailVerdict>>();
      for (const [row, nextRun] of rows) verdicts.set(row, failVerdict(nextRun));
      return verdicts;
    },
    async locked(db, attempt) {
      const nextRun = await locked(db, attempt, backoff);
      return nextRun === undefined ? undefined : failVerdict(nextRun);
    },
    replay({ failure }, where) {
      const same = where.kind === "settled" && where.operation === "f" && isSame(failure, where);
      return same ? failVerdict(where.nextRun) : undefined;
    },
    refused: "refused",
  };
}

/** The lease goes on: expiry = database time + lease. A spent token is never renewed, so there is nothing to repeat. */
export function renewSteps(
  sql: SqlContext,
  leaseSeconds: number,
): LeaseSteps<LeaseProof, Refusable<{ readonly expiresAt: string }>> {
  const free = renewFreeLeases(sql);
  const locked = renewLockedLease(sql);
  return {
    proof: (lease) => lease,
    sameness: leaseKey,
    async free(db, leases) {
      const rows = await free(db, leases, leaseSeconds);
      return new Map([...rows].map(([row, expiresAt]) => [row, { expiresAt }]));
    },
    async locked(db, lease) {
      const expiresAt = await locked(db, lease, leaseSeconds);
      return expiresAt === undefined ? undefined : { expiresAt };
    },
    replay: () => undefined,
    refused: "refused",
  };
}

function leaseKey(lease: LeaseProof): string {
  return `${lease.owner} ${lease.tokenHash} ${lease.id.nonce}`;
}

function isSame(
  failure: Failure,
  settled: { readonly retryable: boolean | null; readonly code: string | null },
): boolean {
  return failure.code === settled.code && failure.retryable === settled.retryable;
}

function failVerdict(nextRun: string | null): FailVerdict {
  return nextRun === null ? { status: "failed", nextRun } : { status: "queued", nextRun: rfc3339(nextRun) };
}
