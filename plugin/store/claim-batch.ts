import { createHash, randomBytes } from "node:crypto";
import { formatLeaseToken } from "../lease-token.ts";
import type { Database } from "./database.ts";
import type { LeasedJob } from "./job-store.ts";
import { beginning } from "./low-water.ts";
import { nameHash } from "./name-hash.ts";
import type { Pending } from "./pending.ts";
import { type ClaimedRow, type ClaimReadyJobs, claimReadyJobs } from "./queries/claim-ready-jobs.ts";
import { undoClaims } from "./queries/undo-claims.ts";
import type { QueueWater } from "./queue-waters.ts";
import type { SqlContext } from "./sql-context.ts";

export type PendingClaim = Pending<undefined, LeasedJob | undefined>;

/** Claims for one owner of one queue. */
export interface QueueClaims {
  readonly queue: string;
  readonly owner: string;
  readonly leaseSeconds: number;
}

/** Serves the claims of a batch from the queue, first come first served. */
export type ClaimBatch = (db: Database, claims: QueueClaims, batch: readonly PendingClaim[]) => Promise<void>;

export function claimBatch(sql: SqlContext, waterOf: (queueHash: string) => QueueWater): ClaimBatch {
  const claim = claimReadyJobs(sql);
  const undo = undoClaims(sql);
  return async (db, claims, batch) => {
    const water = waterOf(nameHash(claims.queue));
    const basket = new Basket(claim, db, claims, batch.length);
    try {
      await fill(basket, water, db);
    } finally {
      // A job whose caller left before the answer goes back, with its attempt.
      const left = deliver(basket.leases, batch);
      if (left.length > 0) {
        await undo(
          db,
          left.map(({ job, tokenHash }) => ({ row: job.id.row, tokenHash })),
        );
        for (const { nextRun } of left) water.ready.lower(nextRun);
      }
    }
    for (const call of batch) call.answer(undefined);
  };
}

/** From the low-water mark first; what is still missing after that, from the whole queue and its expired leases. */
async function fill(basket: Basket, { ready, reaper }: QueueWater, db: Database): Promise<void> {
  const fullScan = async (): Promise<void> => {
    const startedAt = performance.now();
    const last = await basket.take(beginning);
    ready.setByFullScan(last, performance.now() - startedAt);
  };
  // Each claim of the batch may look at the expired leases once, so that what one claim retires is bounded.
  let looksLeft = basket.wanted;
  const reap = async (): Promise<number> => {
    looksLeft -= 1;
    const { requeued, earliest } = await reaper.run(db, "hot");
    if (earliest !== undefined) ready.lower(earliest);
    return requeued;
  };

  if (reaper.due) await reap();
  const { from, ticket } = ready.start();
  if (from !== beginning && !ready.fullScanDue) {
    const last = await basket.take(from);
    if (last !== undefined) ready.raise(last, ticket);
  }
  if (basket.full) return;
  await fullScan();
  while (!basket.full && looksLeft > 0 && (await reap()) > 0) await fullScan();
}

interface Lease {
  readonly job: LeasedJob;
  readonly tokenHash: string;
  readonly nextRun: string;
}

/** What a batch has got so far, up to the number that it wants. */
class Basket {
  readonly leases: Lease[] = [];
  readonly #claim: ClaimReadyJobs;
  readonly #db: Database;
  readonly #claims: QueueClaims;
  readonly #tokens: readonly { readonly text: string; readonly hash: Buffer }[];

  constructor(claim: ClaimReadyJobs, db: Database, claims: QueueClaims, wanted: number) {
    this.#claim = claim;
    this.#db = db;
    this.#claims = claims;
    const random = randomBytes(32 * wanted);
    this.#tokens = Array.from({ length: wanted }, (_, index) => {
      const bytes = random.subarray(32 * index, 32 * index + 32);
      return { text: formatLeaseToken(bytes), hash: createHash("sha256").update(bytes).digest() };
    });
  }

  get wanted(): number {
    return this.#tokens.length;
  }

  get full(): boolean {
    return this.leases.length === this.wanted;
  }

  /** Claims what is missing; answers the last run time that it got. */
  async take(from: string): Promise<string | undefined> {
    const free = this.#tokens.slice(this.leases.length);
    const tokenHashes = Buffer.concat(free.map((token) => token.hash));
    const rows = await this.#claim(this.#db, { ...this.#claims, from, tokenHashes });
    for (const row of rows) {
      const token = free[row.place - 1] as (typeof free)[number];
      this.leases.push({
        job: leasedJob(row, token.text),
        tokenHash: token.hash.toString("hex"),
        nextRun: row.nextRun,
      });
    }
    return rows.at(-1)?.nextRun;
  }
}

function leasedJob(row: ClaimedRow, token: string): LeasedJob {
  const { kind, payload, attempt, maxAttempts, expiresAt } = row;
  return { id: { row: row.row, nonce: row.nonce }, kind, payload, attempt, maxAttempts, token, expiresAt };
}

/** Hands the jobs, in their order, to the callers that are still there. Returns those that nobody took. */
function deliver(leases: readonly Lease[], batch: readonly PendingClaim[]): readonly Lease[] {
  let next = 0;
  for (const call of batch) {
    const lease = leases[next];
    if (lease === undefined) break;
    if (call.answer(lease.job)) next += 1;
  }
  return leases.slice(next);
}
