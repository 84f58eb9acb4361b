import { createHash } from "node:crypto";
import { canonicalJsonText } from "../json-value.ts";
import type { ProviderEnqueue } from "../provider.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import { dispatchRecord } from "./dispatch-record.ts";
import type { FindHome } from "./find-home.ts";
import { insertJoined, joinedSession } from "./insert-joined.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import type { JobsRefusal } from "./jobs-refusal.ts";
import { newRecordId } from "./new-record-id.ts";
import { findKey } from "./records/find-key.ts";
import { insertTasks } from "./records/insert-tasks.ts";
import type { RecordSession } from "./records/record-session.ts";
import type { Dispatch } from "./records/record-state.ts";
import { withdrawTask } from "./records/withdraw-task.ts";
import { refusedByJobs } from "./refused-by-jobs.ts";

/** What an enqueue in a caller's transaction needs beside the queue. */
export interface Joining {
  readonly findHome: FindHome;
  /** Resolves once the Instance has proven to be a producer, or could not be asked. @throws TaskQueueError `invalid-options` */
  proveProducer(): Promise<void>;
  /** Called with a record whose transaction is the caller's, to dispatch it once that has committed. */
  afterCommit(recorded: Dispatch): void;
}

/**
 * Records a task and dispatches it; in a caller's transaction the record alone, which is an outbox then. Resolves to its id as soon as
 * it is recorded: a Jobs capability that cannot be reached delays the run, nothing else.
 *
 * @throws TaskQueueError `invalid-options` when the capability refuses the role or the queue
 */
export async function enqueueTask(
  queue: JobsQueue,
  { transaction, ...asked }: ProviderEnqueue,
  joining: Joining,
): Promise<string> {
  const joined = transaction !== undefined;
  const session = joined ? joinedSession(queue.records, transaction) : queue.records;
  if (joined) await joining.proveProducer();
  const intent = intentOf(asked);
  const task = { ...asked, id: newRecordId(), intent, leftToTheSweep: joined };
  const recorded = await (joined
    ? insertJoined(session, task, joining.findHome)
    : asked.deduplicationKey === undefined
      ? queue.batched.insert(task)
      : queue.takeKey(async () => (await insertTasks(session, [task]))[0]));
  if (recorded === undefined) return firstUseOf(session, asked.deduplicationKey as string, intent);
  if (joined) joining.afterCommit(recorded);
  else await dispatchOrRefuse(queue, recorded, asked.deduplicationKey !== undefined);
  return recorded.id;
}

/** A task that is refused is forgotten. One with a key stays: a key is never free again, and asking once more finds it. */
async function dispatchOrRefuse(queue: JobsQueue, recorded: Dispatch, hasKey: boolean): Promise<void> {
  const refusals: JobsRefusal[] = [];
  await dispatchRecord(queue, recorded, (refusal) => refusals.push(refusal));
  const [refusal] = refusals;
  if (refusal === undefined) return;
  if (!hasKey) await withdrawTask(queue.records, recorded.id);
  throw refusedByJobs(refusal, queue.records.queue, "enqueue");
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
