import { SQL } from "bun";
import { type Load, payloadOf, type Side, type SideOptions } from "./side.ts";
import { takeInLanes } from "./take-in-lanes.ts";

/**
 * The least SQL that a correct queue must send: insert, take by update with a lease, delete, in three commits. No idempotency, no
 * retries, no history, no fencing: nothing that anybody should use, but nothing that does more can be faster.
 */
export async function open({ databaseUrl, schema, first }: SideOptions): Promise<Side> {
  const sql = new SQL(databaseUrl, {
    max: 16,
    connection: { search_path: schema, plan_cache_mode: "force_generic_plan", enable_seqscan: "off" },
  });
  if (first) await makeTable(databaseUrl, schema);
  const enqueue = async (marker: number): Promise<void> =>
    void (await sql.unsafe(insertOne, [JSON.stringify(payloadOf(marker))]));
  const claim = (count: number): Promise<{ id: string; payload: { marker: number } }[]> =>
    sql.unsafe(takeSome, [count]);
  const end = async (rows: readonly { id: string }[]): Promise<void> =>
    void (await sql.unsafe(deleteSome, [`{${rows.map(({ id }) => id).join()}}`]));
  return {
    settings: (load) => `${batchOf[load].lanes} × ${batchOf[load].size} in a statement`,
    enqueue,
    async bulk(count) {
      const payloads = Array.from({ length: count }, () => JSON.stringify(payloadOf(0)));
      await sql.unsafe(insertMany, [JSON.stringify(payloads)]);
    },
    async claim() {
      const rows = await claim(1);
      return rows.length === 0 ? undefined : () => end(rows);
    },
    async work(load, seen) {
      const { lanes, size } = batchOf[load];
      return takeInLanes({
        lanes,
        async take() {
          const rows = await claim(size);
          for (const { payload } of rows) seen.entered(payload.marker);
          if (rows.length > 0) await end(rows);
          seen.ended(rows.length);
          return rows.length;
        },
        wait: () => Bun.sleep(2),
      });
    },
    manyQueues: {
      // It has no queues; the same work on one table is what the others are compared with.
      prepare: async () => undefined,
      enqueue: () => enqueue(0),
      take: async () => end(await claim(1)),
    },
    close: () => sql.close(),
  };
}

const batchOf: Readonly<Record<Load, { readonly lanes: number; readonly size: number }>> = {
  default: { lanes: 1, size: 1 },
  batch: { lanes: 1, size: 500 },
  best: { lanes: 2, size: 1000 },
  prompt: { lanes: 1, size: 1 },
};

const insertOne = "insert into job (payload) values ($1::text::json)";
const insertMany =
  "insert into job (payload) select value::json from pg_catalog.json_array_elements_text($1::text::json)";
const takeSome = `update job set lease = pg_catalog.clock_timestamp() + interval '1 minute'
  where ctid = any(array(select ctid from job where lease is null order by id limit $1 for update skip locked))
  returning id, payload`;
const deleteSome = "delete from job where id = any($1::bigint[])";

async function makeTable(databaseUrl: string, schema: string): Promise<void> {
  const sql = new SQL(databaseUrl, { max: 1 });
  try {
    await sql
      .unsafe(
        `create schema if not exists "${schema}";
         create table if not exists "${schema}".job (
           id bigint generated always as identity primary key, lease timestamptz, payload json not null
         ) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
         create index if not exists job_due on "${schema}".job (id) where lease is null`,
      )
      .simple();
  } finally {
    await sql.close();
  }
}
