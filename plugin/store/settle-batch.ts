import type { Database } from "./database.ts";
import { databaseFailure, toRuntimeFailure } from "./database-failure.ts";
import type { LeaseProof } from "./job-store.ts";
import type { Pending } from "./pending.ts";
import type { LocateSettlements, Whereabouts } from "./queries/locate-settlements.ts";
import type { SharedWaits } from "./shared-waits.ts";

/** One kind of call that acts on a lease, as three steps. */
export interface LeaseSteps<In, Verdict> {
  proof(input: In): LeaseProof;
  /** Equal for calls that ask for the very same thing under the same lease. */
  sameness(input: In): string;
  /** Acts on the valid leases that nobody else is touching: verdict by row id. */
  free(db: Database, inputs: readonly In[]): Promise<ReadonlyMap<string, Verdict>>;
  /** Acts on one lease after any wait for its row. */
  locked(db: Database, input: In): Promise<Verdict | undefined>;
  /** The answer once more, when this very call spent the token. */
  replay(input: In, where: Whereabouts): Verdict | undefined;
  readonly refused: Verdict;
}

/** `free`: the first step by other means. */
export type SettleBatch<In, Verdict> = (
  db: Database,
  batch: readonly Pending<In, Verdict>[],
  free?: LeaseSteps<In, Verdict>["free"],
) => Promise<void>;

/**
 * Gives each call of a batch its own verdict: most by the first statement, which waits for nobody; the others by looking where
 * their token is, and only a lease that is still held there is waited for, alone and outside the batch.
 */
export function settleBatch<In, Verdict>(
  steps: LeaseSteps<In, Verdict>,
  locate: LocateSettlements,
  waits: SharedWaits<Pending<In, Verdict>>,
): SettleBatch<In, Verdict> {
  return async (db, batch, free = steps.free) => {
    let rest = batch;
    while (rest.length > 0) {
      const { groups, later } = groupByJob(steps, rest);
      await settleRound(db, groups, { ...steps, free }, locate, waits);
      rest = later;
    }
  };
}

/** Identical calls under one lease share a verdict. */
interface JobGroup<In, Verdict> {
  readonly row: string;
  readonly input: In;
  readonly calls: Pending<In, Verdict>[];
}

/** A differing call for the same job waits for the next round: two in one statement would settle the job twice. */
function groupByJob<In, Verdict>(
  steps: LeaseSteps<In, Verdict>,
  batch: readonly Pending<In, Verdict>[],
): { readonly groups: readonly JobGroup<In, Verdict>[]; readonly later: readonly Pending<In, Verdict>[] } {
  const groups = new Map<string, JobGroup<In, Verdict>>();
  const later: Pending<In, Verdict>[] = [];
  for (const call of batch) {
    const { input } = call;
    const { row } = steps.proof(input).id;
    const group = groups.get(row);
    if (group === undefined) groups.set(row, { row, input, calls: [call] });
    else if (steps.sameness(group.input) === steps.sameness(input)) group.calls.push(call);
    else later.push(call);
  }
  return { groups: [...groups.values()], later };
}

async function settleRound<In, Verdict>(
  db: Database,
  groups: readonly JobGroup<In, Verdict>[],
  steps: LeaseSteps<In, Verdict>,
  locate: LocateSettlements,
  waits: SharedWaits<Pending<In, Verdict>>,
): Promise<void> {
  const missing = await settleFree(db, groups, steps);
  if (missing.length === 0) return;
  const places = await locate(
    db,
    missing.map((group) => steps.proof(group.input)),
  );
  missing.forEach((group, index) => {
    const where = places[index] as Whereabouts;
    if (where.kind !== "held") {
      answer(group.calls, steps.replay(group.input, where) ?? steps.refused);
      return;
    }
    waits.join(group.row, steps.sameness(group.input), group.calls, async (calls) => {
      answer(calls, await settleLocked(db, group.input, steps, locate));
    });
  });
}

/**
 * Answers what the first step settles, and gives back the others. What the database refuses of one element must not fail its neighbours: each
 * half is sent by itself, until the element is alone. Rows that somebody holds are passed over, so a time-out is not one element's.
 */
async function settleFree<In, Verdict>(
  db: Database,
  groups: readonly JobGroup<In, Verdict>[],
  steps: LeaseSteps<In, Verdict>,
): Promise<readonly JobGroup<In, Verdict>[]> {
  let settled: ReadonlyMap<string, Verdict>;
  try {
    settled = await steps.free(
      db,
      groups.map((group) => group.input),
    );
  } catch (error) {
    const { kind, split } = databaseFailure(error);
    if (kind !== "plugin_failure" || !split) throw error;
    if (groups.length === 1) {
      for (const call of groups[0]?.calls ?? []) call.fail(toRuntimeFailure(error));
      return [];
    }
    const half = Math.ceil(groups.length / 2);
    const first = await settleFree(db, groups.slice(0, half), steps);
    return [...first, ...(await settleFree(db, groups.slice(half), steps))];
  }
  return groups.filter((group) => {
    const verdict = settled.get(group.row);
    if (verdict !== undefined) answer(group.calls, verdict);
    return verdict === undefined;
  });
}

async function settleLocked<In, Verdict>(
  db: Database,
  input: In,
  steps: LeaseSteps<In, Verdict>,
  locate: LocateSettlements,
): Promise<Verdict> {
  const verdict = await steps.locked(db, input);
  if (verdict !== undefined) return verdict;
  const [where] = await locate(db, [steps.proof(input)]);
  return (where && steps.replay(input, where)) ?? steps.refused;
}

function answer<In, Verdict>(calls: readonly Pending<In, Verdict>[], verdict: Verdict): void {
  for (const call of calls) call.answer(verdict);
}
