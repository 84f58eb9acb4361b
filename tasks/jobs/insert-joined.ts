import { SafeCause, TaskQueueError } from "../task-queue-error.ts";
import type { FindHome } from "./find-home.ts";
import { insertTasks, type NewTask } from "./records/insert-tasks.ts";
import { joinTransaction } from "./records/joined-transaction.ts";
import { reachesHome } from "./records/record-home.ts";
import type { RecordSession } from "./records/record-session.ts";
import type { Dispatch } from "./records/record-state.ts";

/** The same records through the caller's transaction. @throws TaskQueueError `invalid-options` for what is none */
export function joinedSession(records: RecordSession, transaction: unknown): RecordSession {
  try {
    return { ...records, query: joinTransaction(transaction) };
  } catch (cause) {
    throw new TaskQueueError("invalid-options", "enqueue", { cause });
  }
}

/**
 * Records a task in the caller's transaction; undefined when its key is taken. The statement inserts nothing on another database than the
 * records', where no worker of the queue would ever see the task.
 *
 * @throws TaskQueueError `invalid-options` for a transaction on another database
 */
export async function insertJoined(
  session: RecordSession,
  task: NewTask,
  findHome: FindHome,
): Promise<Dispatch | undefined> {
  try {
    for (const afresh of [false, true]) {
      const home = await findHome(afresh);
      const [recorded] = await insertTasks(session, [task], home);
      if (recorded !== undefined) return recorded;
      if (await reachesHome(session, home)) return undefined;
    }
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === "42P01" || code === "3F000") throw onAnotherDatabase(error); // no such table, no such schema
    throw error;
  }
  throw onAnotherDatabase();
}

function onAnotherDatabase(because?: unknown): TaskQueueError {
  const cause = new SafeCause(
    "transaction: expected one on the database of the queue's records, got one on another database",
    because === undefined ? {} : { cause: because },
  );
  return new TaskQueueError("invalid-options", "enqueue", { cause });
}
