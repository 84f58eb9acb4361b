import type { RecordSession } from "./record-session.ts";

export interface FoundKey {
  readonly taskId: string;
  /** SHA-256 over task and raw input of the first use, in hex. */
  readonly intent: string;
  /** False once the task has been pruned. */
  readonly kept: boolean;
}

/** Who holds a deduplication key, in one snapshot. */
export async function findKey(session: RecordSession, key: string): Promise<FoundKey | undefined> {
  const text = `
    select k.task_id::text as id, encode(k.intent, 'hex') as intent, t.id is not null as kept
    from ${session.table("deduplication_key")} k left join ${session.table("task")} t on t.id = k.task_id
    where k.queue = $1::text and k.key = $2::text`;
  const [row] = await session.query(text, [session.queue, key]);
  if (row === undefined) return undefined;
  return { taskId: row["id"] as string, intent: row["intent"] as string, kept: row["kept"] as boolean };
}
