import { instantText, type RecordSession } from "./record-session.ts";

/** What tells the database of a queue's records from others that have the same schema. */
export interface RecordHome {
  /** When the schema was installed, to the microsecond. */
  readonly installedAt: string;
  /** The id of the queue; another database's has its own, also where it began as a copy of this one. */
  readonly queueId: string;
}

/** The home of the records that a session on the provider's own connections reaches. `queueId` comes from `queueIdentity`. */
export async function readHome(session: RecordSession, queueId: string): Promise<RecordHome> {
  const [row] = await session.query(
    `select ${instantText("applied_at")} as moment from ${session.table("lenso_tasks_ledger")} where version = 1`,
    [],
  );
  return { installedAt: row?.["moment"] as string, queueId };
}

/**
 * The condition of a statement that must run at home; its parameters are the queue, as $1, and {@link homeValues}. The queue's row may be younger
 * than a transaction's snapshot, so that only another id in its place is evidence.
 */
export function isAtHome(session: RecordSession, moment: string, queueId: string): string {
  return `exists (select from ${session.table("lenso_tasks_ledger")} where version = 1 and applied_at = ${moment}::text::timestamptz)
    and not exists (select from ${session.table("queue")} where name = $1::text and id <> ${queueId}::text::uuid)`;
}

export function homeValues({ installedAt, queueId }: RecordHome): string[] {
  return [installedAt, queueId];
}

/** Whether a session reaches that home. */
export async function reachesHome(session: RecordSession, home: RecordHome): Promise<boolean> {
  const [row] = await session.query(`select ${isAtHome(session, "$2", "$3")} as home`, [
    session.queue,
    ...homeValues(home),
  ]);
  return row?.["home"] === true;
}
