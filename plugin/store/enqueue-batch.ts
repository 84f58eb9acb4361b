import { RuntimeFailureError } from "../../capability/index.ts";
import type { Background } from "./background.ts";
import type { Database, Lane } from "./database.ts";
import { databaseFailure, toRuntimeFailure } from "./database-failure.ts";
import type { EnqueueVerdict, NewJob } from "./job-store.ts";
import { nameHash } from "./name-hash.ts";
import type { Pending } from "./pending.ts";
import { type FindJobsByKey, findJobsByKey } from "./queries/find-jobs-by-key.ts";
import { type InsertJobs, insertJobs } from "./queries/insert-jobs.ts";
import type { SharedWaits } from "./shared-waits.ts";
import type { SqlContext } from "./sql-context.ts";

export type PendingEnqueue = Pending<NewJob, EnqueueVerdict>;

/** Gives each enqueue of a batch its own verdict. */
export type EnqueueBatch = (db: Database, batch: readonly PendingEnqueue[]) => Promise<void>;

/** How workers learn of a job: of other processes on the channel, of this one by a call. */
export interface WakeUps {
  readonly channel: string;
  /** This process, as its registrations name it. */
  readonly listener: string;
  wake(queueHash: string): void;
}

/** A key that is taken when inserted and free when looked up has just been deleted; it cannot go on for ever. */
const maxRounds = 5;

/** Where calls go that cannot share a statement. */
export interface LoneEnqueues {
  readonly background: Background;
  readonly waits: SharedWaits<PendingEnqueue>;
}

export function enqueueBatch(sql: SqlContext, lone: LoneEnqueues, wakeUps: WakeUps): EnqueueBatch {
  const insert = insertJobs(sql, wakeUps.channel, wakeUps.listener);
  const find = findJobsByKey(sql);
  const settle = async (db: Database, lane: Lane, batch: readonly PendingEnqueue[]): Promise<void> => {
    let groups = sortedByKey(batch);
    for (let round = 0; groups.length > 0; round += 1) {
      if (round === maxRounds) throw new RuntimeFailureError("unavailable", "the key keeps changing hands");
      groups = await settleRound(db, lane, groups, insert, find, wakeUps);
    }
  };
  const settleAlone = async (db: Database, { sortKey, calls }: KeyGroup): Promise<void> => {
    try {
      await settle(db, "hot", calls);
    } catch (error) {
      if (databaseFailure(error).split) lone.waits.join(sortKey, "", calls, (all) => settle(db, "lock", all));
      else for (const call of calls) call.fail(toRuntimeFailure(error));
    }
  };
  return async (db, batch) => {
    try {
      await settle(db, "hot", batch);
    } catch (error) {
      if (!databaseFailure(error).split) throw error;
      // A key that the database refuses, or that somebody holds uncommitted, must neither fail nor hold up its neighbours.
      const groups = sortedByKey(batch.filter((call) => call.open));
      lone.background.run(async () => {
        for (const group of groups) await settleAlone(db, group);
      });
    }
  };
}

/** Calls of one producer with one key: the first to arrive is sent, the others are judged by what then holds the key. */
interface KeyGroup {
  readonly sortKey: string;
  readonly calls: PendingEnqueue[];
}

function sortedByKey(batch: readonly PendingEnqueue[]): KeyGroup[] {
  const groups = new Map<string, KeyGroup>();
  for (const call of batch) {
    const sortKey = `${call.input.producer} ${call.input.key}`;
    const group = groups.get(sortKey);
    if (group) group.calls.push(call);
    else groups.set(sortKey, { sortKey, calls: [call] });
  }
  return [...groups.values()].sort((a, b) => (a.sortKey < b.sortKey ? -1 : 1));
}

/** Inserts, then looks up who holds the keys that were taken. Returns the groups whose keys nobody held after all. */
async function settleRound(
  db: Database,
  lane: Lane,
  groups: readonly KeyGroup[],
  insert: InsertJobs,
  find: FindJobsByKey,
  wakeUps: WakeUps,
): Promise<KeyGroup[]> {
  const firsts = groups.map((group) => (group.calls[0] as PendingEnqueue).input);
  const inserted = await insert(db, lane, firsts);
  const taken = groups.filter((_, index) => inserted[index] === undefined);
  const holders =
    taken.length === 0
      ? []
      : await find(
          db,
          taken.map((group) => (group.calls[0] as PendingEnqueue).input),
        );
  groups.forEach((group, index) => {
    const id = inserted[index];
    if (id === undefined) return;
    const [first, ...others] = group.calls as [PendingEnqueue, ...PendingEnqueue[]];
    first.answer({ kind: "created", id: { row: id.row, nonce: id.nonce } });
    if (id.due) wakeUps.wake(nameHash(first.input.queue));
    for (const call of others) judge(call, { ...id, intent: first.input.intent });
  });
  return taken.filter((group, index) => {
    const holder = holders[index];
    if (holder) for (const call of group.calls) judge(call, holder);
    return holder === undefined;
  });
}

/** Same intent: the same job. Another intent: a conflict. */
function judge(
  call: PendingEnqueue,
  holder: { readonly row: string; readonly nonce: string; readonly intent: string },
): void {
  const id = { row: holder.row, nonce: holder.nonce };
  call.answer(call.input.intent === holder.intent ? { kind: "existing", id } : { kind: "conflict" });
}
