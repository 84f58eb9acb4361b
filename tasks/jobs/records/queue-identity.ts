import type { RecordSession } from "./record-session.ts";

/** The UUID of the queue, drawn by whoever asks first. */
export async function queueIdentity(session: RecordSession): Promise<string> {
  const find = `select id::text as id from ${session.table("queue")} where name = $1::text`;
  const [known] = await session.query(find, [session.queue]);
  if (known !== undefined) return known["id"] as string;
  await session.query(
    `insert into ${session.table("queue")} (name) values ($1::text) on conflict (name) do nothing`,
    [session.queue],
  );
  const [made] = await session.query(find, [session.queue]);
  return made?.["id"] as string;
}
