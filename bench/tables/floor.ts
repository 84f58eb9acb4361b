import { inPortions, payloadSql, type Tables } from "./tables.ts";

/** The one table of the floor. */
export const floorTables: Tables = {
  hot: ["job"],
  clear: async (sql, schema) => void (await sql.unsafe(`truncate "${schema}".job`)),
  async hasWork(sql, schema) {
    const [row] = await sql.unsafe(`select exists (select from "${schema}".job) as has_work`);
    return row.has_work;
  },
  async fill(sql, schema, { due = 0 }) {
    await inPortions(due, (from, to) =>
      sql.unsafe(
        `insert into "${schema}".job (payload) select ${payloadSql}::json from generate_series(${from}, ${to}) n`,
      ),
    );
    await sql.unsafe(`vacuum (analyze) "${schema}".job`);
  },
};
