import { inPortions, payloadSql, type Tables } from "./tables.ts";

/** The table of graphile-worker, which keeps no history. */
export const graphileTables: Tables = {
  hot: ["_private_jobs"],
  clear: async (sql, schema) => void (await sql.unsafe(`truncate "${schema}"._private_jobs`)),
  async hasWork(sql, schema) {
    const [row] = await sql.unsafe(
      `select exists (
         select from "${schema}"._private_jobs where run_at <= now() and attempts < max_attempts
       ) as has_work`,
    );
    return row.has_work;
  },
  async fill(sql, schema, { due = 0, future = 0 }) {
    await sql.unsafe(
      `insert into "${schema}"._private_tasks (identifier) values ('bench') on conflict (identifier) do nothing`,
    );
    const add = (runAt: string) => (from: number, to: number) =>
      sql.unsafe(
        `insert into "${schema}"._private_jobs (task_id, payload, run_at)
         select task.id, ${payloadSql}::json, ${runAt}
         from generate_series(${from}, ${to}) n, "${schema}"._private_tasks task where task.identifier = 'bench'`,
      );
    await inPortions(future, add("now() + interval '1 day'"));
    await inPortions(due, add("now()"));
    await sql.unsafe(`vacuum (analyze) "${schema}"._private_jobs`);
  },
};
