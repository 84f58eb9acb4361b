import type { RecordSession } from "./record-session.ts";

/** Deletes finished tasks older than the retention, at most `limit`, and says how many. Their deduplication keys stay. */
export async function pruneTasks(
  session: RecordSession,
  given: { readonly retentionSeconds: number; readonly limit: number },
): Promise<number> {
  const table = session.table("task");
  const text = `
    with pruned as (
      delete from ${table} where finished_at is not null and id = any (array(
        select id from ${table}
        where queue = $1::text and finished_at is not null
          and finished_at < (select ${session.clock} - make_interval(secs => $2::text::float8))
        order by finished_at limit $3::text::int for update skip locked))
      returning id
    )
    select count(*)::int as pruned from pruned`;
  const [row] = await session.query(text, [
    session.queue,
    String(given.retentionSeconds),
    String(given.limit),
  ]);
  return (row?.["pruned"] as number | undefined) ?? 0;
}
