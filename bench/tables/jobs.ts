import type { SQL } from "bun";
import { inPortions, payloadSql, type Tables } from "./tables.ts";

/** The tables of `lenso.jobs@1`. */
export const jobsTables: Tables = {
  hot: ["jobs", "ready", "lease", "outcome"],
  clear: async (sql, schema) =>
    void (await sql.unsafe(
      `truncate "${schema}".jobs, "${schema}".ready, "${schema}".lease, "${schema}".outcome`,
    )),
  async hasWork(sql, schema) {
    const [row] = await sql.unsafe(
      `select exists (select from "${schema}".lease)
         or exists (select from "${schema}".ready where next_run <= now()) as has_work`,
    );
    return row.has_work;
  },
  async fill(sql, schema, { due = 0, future = 0, finished = 0 }) {
    await inPortions(future, (from, to) => addReady(sql, schema, from, to, "now() + interval '1 day'"));
    await inPortions(finished, (from, to) =>
      sql.unsafe(
        `with body as (${addBodies(schema, dueSince, from, to)})
         insert into "${schema}".outcome (id, next_run, finished_at, owner, attempt, state, operation, token)
         select id, requested_at, now(), producer, 1, 's', 'c', sha256(int8send(id)) from body`,
      ),
    );
    await inPortions(due, (from, to) => addReady(sql, schema, from, to, dueSince));
    for (const table of ["jobs", "ready", "outcome"])
      await sql.unsafe(`vacuum (analyze) "${schema}".${table}`);
  },
};

/** Each job a microsecond after the one before, so that they have an order. */
const dueSince = "timestamptz '2026-01-01' + interval '1 microsecond' * n";

function addReady(sql: SQL, schema: string, from: number, to: number, runAt: string): Promise<unknown> {
  return sql.unsafe(
    `with body as (${addBodies(schema, runAt, from, to)})
     insert into "${schema}".ready (queue, next_run, id, updated_at, bytes, max_attempts)
     select queue, requested_at, id, created_at, octet_length(payload::text), max_attempts from body`,
  );
}

function addBodies(schema: string, runAt: string, from: number, to: number): string {
  return `insert into "${schema}".jobs (producer, queue, requested_at, created_at, max_attempts, nonce, intent, kind, idempotency_key, payload)
    select ${hashOf("app")}, ${hashOf("bench")}, ${runAt}, now(), 3, substring(sha256(int8send(n)), 1, 10), sha256(int8send(n)),
      'bench', gen_random_uuid() || '-' || n, ${payloadSql}::json
    from generate_series(${from}, ${to}) n
    returning *`;
}

/** How names stand in the tables: the first 8 bytes of the SHA-256, top bit cleared. */
function hashOf(name: string): string {
  return `(('x' || encode(substring(sha256('${name}'), 1, 8), 'hex'))::bit(64)::bigint & 9223372036854775807)`;
}
