import { withHeldTransaction } from "../run/hold-transaction.ts";
import { percentile } from "./percentile.ts";
import { onlyProcess, type Recorder, type Row, type Scenario, type Stand } from "./scenario.ts";

/** Minutes of steady load, then what the tables have become: `--churn-minutes`. */
export const churn: Scenario = longLoad("churn", "steady for minutes", ({ churnMinutes }) => churnMinutes);

/** The same with a transaction held open all the time: `--hold-minutes`. */
export const held: Scenario = longLoad(
  "held",
  "steady for minutes, transaction held open",
  ({ holdMinutes }) => holdMinutes,
);

function longLoad(name: string, what: string, minutes: (size: Stand["size"]) => number): Scenario {
  const rows: readonly Row[] = [
    { id: `${name}-rate`, title: what, unit: "jobs/s", better: "higher" },
    { id: `${name}-kept`, title: `${what}: last fifth ÷ first fifth`, unit: "×", better: "higher" },
    { id: `${name}-bytes`, title: `${what}: hot tables with indexes`, unit: "bytes", better: "lower" },
    { id: `${name}-dead`, title: `${what}: dead rows ÷ jobs a second`, unit: "×", better: "lower" },
  ];
  return {
    name,
    sides: ["lenso-jobs", "pg-boss", "graphile-worker"],
    once: true,
    onRequest: true,
    rows,
    async measure(stand, record) {
      await stand.spec.tables.clear(stand.sql, stand.schema);
      const process = onlyProcess(stand);
      const seconds = stand.size.quick ? 5 : Math.max(5, Math.round(minutes(stand.size) * 60));
      const work = async (): Promise<readonly number[]> => {
        await process.ask("startWork", { load: "batch" });
        const rates = await process.ask("steady", { seconds, atOnce: 200 });
        await process.ask("stopWork", null);
        await Bun.sleep(stand.size.quick ? 0 : 11_000); // an idle server process tells its row counts after ten seconds
        await recordSizes(stand, record, name, percentile(rates, 0.5));
        return rates;
      };
      const rates = await (name === "held" ? withHeldTransaction(stand.databaseUrl, work) : work());
      const fifth = Math.ceil(rates.length / 5);
      record(`${name}-rate`, percentile(rates, 0.5));
      record(`${name}-kept`, percentile(rates.slice(-fifth), 0.5) / percentile(rates.slice(0, fifth), 0.5));
      await stand.spec.tables.clear(stand.sql, stand.schema);
    },
  };
}

async function recordSizes(stand: Stand, record: Recorder, name: string, rate: number): Promise<void> {
  let bytes = 0;
  let dead = 0;
  for (const table of stand.spec.tables.hot) {
    const [row] = await stand.sql`
      select pg_table_size(c.oid)::text as table_bytes, pg_indexes_size(c.oid)::text as index_bytes,
        pg_stat_get_live_tuples(c.oid)::text as live, pg_stat_get_dead_tuples(c.oid)::text as dead
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${stand.schema} and c.relname = ${table}`;
    stand.say(
      `    ${stand.spec.name} ${table}: table ${row.table_bytes} B, indexes ${row.index_bytes} B, rows ${row.live}, dead ${row.dead}`,
    );
    bytes += Number(row.table_bytes) + Number(row.index_bytes);
    dead += Number(row.dead);
  }
  record(`${name}-bytes`, bytes);
  record(`${name}-dead`, dead / rate);
}
