import { jobsTables } from "./jobs.ts";
import type { Tables } from "./tables.ts";

/** The records of tasks on `lenso.jobs@1`, and the jobs that carry them. */
export const taskTables: Tables = {
  hot: jobsTables.hot,
  async clear(sql, schema) {
    await jobsTables.clear(sql, schema);
    await sql.unsafe(`truncate "${schema}_records".task, "${schema}_records".deduplication_key`);
  },
  async hasWork(sql, schema) {
    const [row] = await sql.unsafe(
      `select exists (
         select from "${schema}_records".task where state in ('pending', 'running') and run_at <= now()
       ) as has_work`,
    );
    return row.has_work || jobsTables.hasWork(sql, schema);
  },
};
