import { inPortions, payloadSql, type Tables } from "./tables.ts";

/** The table of pg-boss under the task queue, whose jobs are more than a payload: only it can make them. */
export const pgBossTaskTables: Tables = {
  hot: ["job_common"],
  clear: async (sql, schema) => void (await sql.unsafe(`truncate "${schema}".job cascade`)),
  async hasWork(sql, schema) {
    const [row] = await sql.unsafe(
      `select exists (
         select from "${schema}".job where state <= 'active' and start_after <= now() and name = 'bench'
       ) as has_work`,
    );
    return row.has_work;
  },
};

/** The table of pg-boss. */
export const pgBossTables: Tables = {
  ...pgBossTaskTables,
  async fill(sql, schema, { due = 0, future = 0, finished = 0 }) {
    const add = (state: string, startAfter: string, completed: string) => (from: number, to: number) =>
      sql.unsafe(
        `insert into "${schema}".job (name, data, state, start_after, completed_on)
         select 'bench', ${payloadSql}::jsonb, '${state}', ${startAfter}, ${completed}
         from generate_series(${from}, ${to}) n`,
      );
    await inPortions(future, add("created", "now() + interval '1 day'", "null"));
    await inPortions(finished, add("completed", "now()", "now()"));
    await inPortions(due, add("created", "now()", "null"));
    await sql.unsafe(`vacuum (analyze) "${schema}".job`);
  },
};
