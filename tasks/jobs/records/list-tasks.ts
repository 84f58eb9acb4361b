import { textArray } from "../../../plugin/store/array-literal.ts";
import type { JobSummary } from "../../provider.ts";
import { summaryColumns, summaryOf } from "./read-task.ts";
import type { RecordSession } from "./record-session.ts";

/** The first `limit` tasks of these names after an id, by ascending id. Each name is its own walk through the index. */
export async function listTasks(
  session: RecordSession,
  query: { readonly tasks: readonly string[]; readonly limit: number; readonly after: string | undefined },
): Promise<readonly JobSummary[]> {
  const text = `
    select ${summaryColumns} from unnest($2::text::text[]) as named (name)
    cross join lateral (
      select * from ${session.table("task")}
      where queue = $1::text and task = named.name and id > coalesce($3::text::uuid, '00000000-0000-0000-0000-000000000000')
      order by queue, task, id limit $4::text::int
    ) as found
    order by found.id limit $4::text::int`;
  const rows = await session.query(text, [
    session.queue,
    textArray([...new Set(query.tasks)]),
    query.after ?? null,
    String(query.limit),
  ]);
  return rows.map(summaryOf);
}
