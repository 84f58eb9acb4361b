import { createHash } from "node:crypto";
import { canonicalJsonText } from "../json-value.ts";
import type { ProviderEnqueue } from "../provider.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import { dispatchRecord } from "./dispatch-record.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import { newRecordId } from "./new-record-id.ts";
import { findKey } from "./records/find-key.ts";
import { insertTasks } from "./records/insert-tasks.ts";
import { joinTransaction } from "./records/joined-transaction.ts";
import type { RecordSession } from "./records/record-session.ts";
import type { Dispatch } from "./records/record-state.ts";

/** Called with a record whose transaction is the caller's, to dispatch it once that has committed. */
export type AfterCommit = (recorded: Dispatch) => void;

/**
 * Records a task and dispatches it; in a caller's transaction the record alone, which is an outbox then. Resolves to its id as soon as
 * it is recorded: a Jobs capability that cannot be reached delays the run, nothing else.
 */
export async function enqueueTask(
  queue: JobsQueue,
  { transaction, ...asked }: ProviderEnqueue,
  afterCommit: AfterCommit,
): Promise<string> {
  const joined = transaction !== undefined;
  const session = joined ? joinedSession(queue.records, transaction) : queue.records;
  const intent = intentOf(asked);
  const task = { ...asked, id: newRecordId(), intent, leftToTheSweep: joined };
  const shared = !joined && asked.deduplicationKey === undefined;
  const [recorded] = shared ? [await queue.batched.insert(task)] : await insertTasks(session, [task]);
  if (recorded === undefined) return firstUseOf(session, asked.deduplicationKey as string, intent);
  if (joined) afterCommit(recorded);
  else await dispatchRecord(queue, recorded);
  return recorded.id;
}

/** The same records through the caller's transaction. */
function joinedSession(records: RecordSession, transaction: unknown): RecordSession {
  try {
    return { ...records, query: joinTransaction(transaction) };
  } catch (cause) {
    throw new TaskQueueError("invalid-options", "enqueue", { cause });
  }
}

async function firstUseOf(session: RecordSession, key: string, intent: string): Promise<string> {
  const found = await findKey(session, key);
  // Taken by a transaction that committed before ours could: only a reader with an older snapshot misses it.
  if (found === undefined) throw new TaskQueueError("provider-unavailable", "enqueue");
  if (!found.kept) throw new TaskQueueError("job-expired", "enqueue");
  if (found.intent !== intent) throw new TaskQueueError("deduplication-conflict", "enqueue");
  return found.taskId;
}

/** SHA-256 over what the key stands for. Frozen: stored digests are compared with new ones for ever. */
function intentOf({ task, input }: Pick<ProviderEnqueue, "task" | "input">): string {
  return createHash("sha256").update(canonicalJsonText({ task, input })).digest("hex");
}
