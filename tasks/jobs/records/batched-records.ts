import { databaseFailure } from "../../../plugin/store/database-failure.ts";
import { batchCalls } from "../../batch-calls.ts";
import { dispatchedTasks } from "./dispatched-table.ts";
import { insertTasks, type NewTask } from "./insert-tasks.ts";
import { type EnqueuedDispatch, markDispatches } from "./mark-dispatches.ts";
import type { RecordSession } from "./record-session.ts";
import type { Dispatch } from "./record-state.ts";
import { type Settled, type Settlement, settleAttempts } from "./settle-attempts.ts";
import { type Delivery, type StartedAttempt, startAttempts } from "./start-attempts.ts";

/** What a provider does with one record at a time, while calls that meet share a statement. */
export interface BatchedRecords {
  start(delivery: Delivery): Promise<StartedAttempt | undefined>;
  settle(settlement: Settlement): Promise<Settled | undefined>;
  mark(enqueued: EnqueuedDispatch): Promise<void>;
  /** For a task without a deduplication key: one whose key is being taken would make the others wait. */
  insert(task: NewTask): Promise<Dispatch>;
}

/** As many rows as one statement takes. */
const batchSize = 100;

export function batchRecords(session: RecordSession): BatchedRecords {
  const mark = async (enqueued: readonly EnqueuedDispatch[]): Promise<readonly undefined[]> => {
    await markDispatches(dispatchedTasks(session), enqueued);
    return enqueued.map(() => undefined);
  };
  return {
    start: batched(
      (deliveries: readonly Delivery[]) => startAttempts(session, deliveries),
      ({ fence }) => fence.id,
    ),
    settle: batched(
      (settlements: readonly Settlement[]) => settleAttempts(session, settlements),
      ({ fence }) => fence.id,
    ),
    mark: batched(mark, ({ id }) => id),
    insert: batched(
      (tasks: readonly NewTask[]) => insertTasks(session, tasks) as Promise<readonly Dispatch[]>, // all without a key
      ({ id }) => id,
    ),
  };
}

/** Calls that share statements, in each of which a record is named once. What the database refuses is the fault of its own call only. */
function batched<Item, Answer>(
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
  recordOf: (item: Item) => string,
): (item: Item) => Promise<Answer> {
  const call = batchCalls<Item, PromiseSettledResult<Answer>>(async (items) => {
    const answers = new Map<Item, PromiseSettledResult<Answer>>();
    for (const round of roundsOf(items, recordOf)) {
      const ended = await runEach(round, run);
      for (const [index, item] of round.entries())
        answers.set(item, ended[index] as PromiseSettledResult<Answer>);
    }
    return items.map((item) => answers.get(item) as PromiseSettledResult<Answer>);
  }, batchSize);
  return async (item) => {
    const answer = await call(item);
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  };
}

function roundsOf<Item>(items: readonly Item[], recordOf: (item: Item) => string): Item[][] {
  const rounds: Item[][] = [];
  const named = new Map<string, number>();
  for (const item of items) {
    const record = recordOf(item);
    const round = named.get(record) ?? 0;
    named.set(record, round + 1);
    (rounds[round] ??= []).push(item);
  }
  return rounds;
}

async function runEach<Item, Answer>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<PromiseSettledResult<Answer>[]> {
  try {
    const answers = await run(items);
    return answers.map((value) => ({ status: "fulfilled", value }));
  } catch (reason) {
    if (items.length > 1 && databaseFailure(reason).split)
      return Promise.allSettled(items.map(async (item) => (await run([item]))[0] as Answer));
    return items.map(() => ({ status: "rejected", reason }));
  }
}
