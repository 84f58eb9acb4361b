import type { Tables } from "./tables.ts";

/** The tables of BullMQ on PostgreSQL. */
export const bullmqTables: Tables = {
  hot: ["job", "event"],
  clear: async (sql, schema) =>
    void (await sql.unsafe(`truncate "${schema}".job, "${schema}".event cascade`)),
  async hasWork(sql, schema) {
    const [row] = await sql.unsafe(
      `select exists (select from "${schema}".job where state in ('waiting', 'active')) as has_work`,
    );
    return row.has_work;
  },
};
