import { type LeaseToken, newLeaseTokens } from "../lease-token.ts";
import type { AnswerSize } from "./answer-size.ts";
import type { Background } from "./background.ts";
import type { Database } from "./database.ts";
import type { LeasedJob } from "./job-store.ts";
import { beginning, type Place } from "./low-water.ts";
import { nameHash } from "./name-hash.ts";
import type { Pending } from "./pending.ts";
import { type Claimed, type ClaimedRow, claimReadyJobs } from "./queries/claim-ready-jobs.ts";
import type { QueueWater } from "./queue-waters.ts";
import type { SharedTrip } from "./shared-trip.ts";
import type { SqlContext } from "./sql-context.ts";
import { takeBack, type UndeliveredLease } from "./take-back.ts";

export type PendingClaim = Pending<undefined, LeasedJob | undefined>;

/** Claims for one owner of one queue. */
export interface QueueClaims {
  readonly queue: string;
  readonly owner: string;
  readonly leaseSeconds: number;
}

/** Serves the claims of a batch from the queue, first come first served. What is aboard the trip is settled meanwhile. */
export type ClaimBatch = (
  db: Database,
  claims: QueueClaims,
  batch: readonly PendingClaim[],
  trip: SharedTrip,
) => Promise<void>;

export function claimBatch(
  sql: SqlContext,
  waterOf: (queueHash: string) => QueueWater,
  background: Background,
): ClaimBatch {
  const claim = claimReadyJobs(sql);
  const undo = takeBack(sql);
  return async (db, claims, batch, trip) => {
    const water = waterOf(nameHash(claims.queue));
    const send: SendClaim = (request) =>
      trip.carry(db, (leases) => claim(db, { ...claims, ...request }, leases));
    const round = new ClaimRound(send, water.answers, batch);
    try {
      await fill(round, water, db, () => trip.leave(db));
    } finally {
      // A job whose caller left before the answer goes back, with its attempt; nobody waits for that.
      const { undelivered } = round;
      if (undelivered.length > 0) background.run(() => undo(db, undelivered, water.ready));
    }
    for (const call of batch) call.answer(undefined);
  };
}

/** What one look at expired leases takes back for a claim; the contract bounds the first number. */
const limits = { retired: 64, requeued: 500 };

/**
 * From the low-water mark first; what is still missing after that, from the whole queue and its expired leases. Before anything that may take
 * longer than a look from the mark, `leave` sends alone what came along.
 */
async function fill(
  round: ClaimRound,
  { ready, reaper }: QueueWater,
  db: Database,
  leave: () => void,
): Promise<void> {
  // Each claim of the batch may look at the expired leases once, so that what one claim retires is bounded.
  let looksLeft = round.missing;
  const reap = async (): Promise<number> => {
    looksLeft -= 1;
    const { requeued, earliest } = await reaper.run(db, "hot", limits);
    if (earliest !== undefined) ready.lower(earliest);
    return requeued;
  };
  const fullScan = async (): Promise<void> => {
    const startedAt = performance.now();
    const last = await round.take(beginning);
    ready.setByFullScan(last, performance.now() - startedAt);
  };

  // Ready jobs are handed out even when this look fails; the reaper stays due then.
  if (reaper.due) {
    leave();
    await reap().catch(() => undefined);
  }
  const { from, ticket } = ready.start();
  if (from !== beginning && !ready.fullScanDue) {
    const last = await round.take(from);
    if (last !== undefined) ready.raise(last, ticket);
  }
  leave();
  if (round.missing === 0) return;
  await fullScan();
  while (round.missing > 0 && looksLeft > 0 && (await reap()) > 0) await fullScan();
}

type SendClaim = (request: {
  readonly from: Place;
  readonly tokenHashes: readonly string[];
}) => Promise<Claimed>;

/** What one batch has got so far. Jobs are handed out as they arrive: their leases are running. */
class ClaimRound {
  readonly undelivered: UndeliveredLease[] = [];
  readonly #send: SendClaim;
  readonly #answers: AnswerSize;
  #waiting: readonly PendingClaim[];

  constructor(send: SendClaim, answers: AnswerSize, batch: readonly PendingClaim[]) {
    this.#send = send;
    this.#answers = answers;
    this.#waiting = batch;
  }

  /** How many callers are still there without a job. */
  get missing(): number {
    this.#waiting = this.#waiting.filter((call) => call.open);
    return this.#waiting.length;
  }

  /** Claims what is missing, in statements of bounded size; answers the last place that it got to. */
  async take(from: Place): Promise<Place | undefined> {
    let last: Place | undefined;
    for (let more = true; more && this.missing > 0; ) {
      const wanted = this.#waiting.length;
      const tokens = newLeaseTokens(this.#answers.atMost(wanted));
      const tokenHashes = tokens.map((token) => token.hash);
      const claimed = await this.#send({ from: last ?? from, tokenHashes });
      let next = 0;
      for (const row of claimed.rows)
        next = this.#handOut(row, tokens[row.place - 1] as LeaseToken, claimed.expiresAt, next);
      last = claimed.last ?? last;
      const asked = tokens.length;
      more = claimed.cut || (asked < wanted && claimed.rows.length === asked);
      this.#answers.learn(claimed.rows, claimed.cut);
    }
    return last;
  }

  /** Gives a job to the first caller from `next` on that is still there; answers where to go on. */
  #handOut(row: ClaimedRow, token: LeaseToken, expiresAt: string, next: number): number {
    const job = leasedJob(row, token.text, expiresAt);
    for (let place = next; place < this.#waiting.length; place += 1) {
      if (this.#waiting[place]?.answer(job)) return place + 1;
    }
    this.undelivered.push({ row: row.row, tokenHash: token.hash });
    return this.#waiting.length;
  }
}

function leasedJob(row: ClaimedRow, token: string, expiresAt: string): LeasedJob {
  const { kind, payload, attempt, max_attempts: maxAttempts } = row;
  return { id: { row: row.row, nonce: row.nonce }, kind, payload, attempt, maxAttempts, token, expiresAt };
}
