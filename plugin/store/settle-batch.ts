import type { Database } from "./database.ts";
import { toRuntimeFailure } from "./database-failure.ts";
import type { LeaseProof } from "./job-store.ts";
import type { Pending } from "./pending.ts";
import type { LocateSettlements, Whereabouts } from "./queries/locate-settlements.ts";
import type { RowWaits } from "./row-waits.ts";

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

export type SettleBatch<In, Verdict> = (
  db: Database,
  batch: readonly Pending<In, Verdict>[],
) => Promise<void>;

/**
 * Gives each call of a batch its own verdict: most by the first statement, which waits for nobody; the others by looking where
 * their token is, and only a lease that is still held there is waited for, alone.
 */
export function settleBatch<In, Verdict>(
  steps: LeaseSteps<In, Verdict>,
  locate: LocateSettlements,
  waits: RowWaits,
): SettleBatch<In, Verdict> {
  return async (db, batch) => {
    let rest = batch;
    while (rest.length > 0) {
      const { groups, later } = groupByJob(steps, rest);
      await settleRound(db, groups, steps, locate, waits);
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
function groupByJob<In, Verdict>(steps: LeaseSteps<In, Verdict>, batch: readonly Pending<In, Verdict>[]) {
  const groups = new Map<string, JobGroup<In, Verdict>>();
  const later: Pending<In, Verdict>[] = [];
  for (const call of batch) {
    const { row } = steps.proof(call.input).id;
    const group = groups.get(row);
    if (group === undefined) groups.set(row, { row, input: call.input, calls: [call] });
    else if (steps.sameness(group.input) === steps.sameness(call.input)) group.calls.push(call);
    else later.push(call);
  }
  return { groups: [...groups.values()], later };
}

async function settleRound<In, Verdict>(
  db: Database,
  groups: readonly JobGroup<In, Verdict>[],
  steps: LeaseSteps<In, Verdict>,
  locate: LocateSettlements,
  waits: RowWaits,
): Promise<void> {
  const settled = await steps.free(
    db,
    groups.map((group) => group.input),
  );
  const missing = groups.filter((group) => {
    const verdict = settled.get(group.row);
    if (verdict !== undefined) answer(group, verdict);
    return verdict === undefined;
  });
  if (missing.length === 0) return;
  const places = await locate(
    db,
    missing.map((group) => steps.proof(group.input)),
  );
  missing.forEach((group, index) => {
    const where = places[index] as Whereabouts;
    if (where.kind === "held")
      waits.start(
        () => settleLocked(db, group, steps, locate),
        (error) => fail(group, error),
      );
    else answer(group, steps.replay(group.input, where) ?? steps.refused);
  });
}

async function settleLocked<In, Verdict>(
  db: Database,
  group: JobGroup<In, Verdict>,
  steps: LeaseSteps<In, Verdict>,
  locate: LocateSettlements,
): Promise<void> {
  const verdict = await steps.locked(db, group.input);
  if (verdict !== undefined) return answer(group, verdict);
  const [where] = await locate(db, [steps.proof(group.input)]);
  answer(group, (where && steps.replay(group.input, where)) ?? steps.refused);
}

function answer<In, Verdict>(group: JobGroup<In, Verdict>, verdict: Verdict): void {
  for (const call of group.calls) call.answer(verdict);
}

function fail<In, Verdict>(group: JobGroup<In, Verdict>, error: unknown): void {
  const failure = toRuntimeFailure(error);
  for (const call of group.calls) call.fail(failure);
}
