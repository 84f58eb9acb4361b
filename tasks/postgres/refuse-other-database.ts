import { SafeCause, TaskQueueError } from "../task-queue-error.ts";
import type { SqlRunner } from "./database.ts";
import type { Queue } from "./queue.ts";
import { queueIdentity } from "./read-jobs.ts";

/** Transactions and clients that have been asked: a connection never changes its database. */
const known = new WeakMap<object, string>();

/**
 * Refuses a caller's transaction that is on another database than the queue, where no worker of the queue would ever see the job. Asks once
 * for each transaction, or client. A copy of the database has the queue's id as well, and is not told apart.
 *
 * @throws TaskQueueError `invalid-options`
 */
export async function refuseOtherDatabase(
  queue: Queue,
  caller: SqlRunner,
  transaction: object,
): Promise<void> {
  if (known.get(transaction) === queue.id) return;
  const there = await idIn(caller, queue);
  // The queue may have been dropped and made again since it was opened.
  if (there === undefined || (there !== queue.id && there !== (await queueIdentity(queue)).id))
    throw refused();
  known.set(transaction, queue.id);
}

async function idIn(caller: SqlRunner, { tables, name }: Queue): Promise<string | undefined> {
  try {
    const { rows } = await caller.executeSql(`select id::text as id from ${tables.queue} where queue = $1`, [
      name,
    ]);
    return rows[0]?.["id"] as string | undefined;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const isMissing = code === "42P01" || code === "3F000"; // no such table, no such schema
    if (isMissing) throw refused(error);
    throw error;
  }
}

function refused(because?: unknown): TaskQueueError {
  const cause = new SafeCause(
    "transaction: expected one on the database of the queue, got one on another database",
    because === undefined ? {} : { cause: because },
  );
  return new TaskQueueError("invalid-options", "enqueue", { cause });
}
