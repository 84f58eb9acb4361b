import type { SQL } from "bun";
import type { Stored, StoredJob, StoredMove } from "./audit.ts";

/** Reads what a run has left in the database. */
export async function readStored(sql: SQL): Promise<Stored> {
  const jobs: StoredJob[] = await sql`
    select j.id::text as row, encode(j.nonce, 'hex') as nonce, j.idempotency_key as key, (j.payload->>'variant')::int as variant,
      array_to_string(array[
        case when r.id is not null then 'ready' end, case when l.id is not null then 'lease' end,
        case when o.id is not null then 'outcome' end], ' ') as place,
      o.attempt::int as attempt, o.state::text as state, o.operation::text as operation, encode(o.token, 'hex') as token
    from jobs.jobs j left join jobs.ready r on r.id = j.id left join jobs.lease l on l.id = j.id
      left join jobs.outcome o on o.id = j.id`.then((rows) =>
    rows.map(({ place, ...job }: StoredJob & { place: string }) => ({
      ...job,
      places: place.split(" ").filter(Boolean),
    })),
  );
  const moves: StoredMove[] = await sql`
    select row::text as row, place, generation::text as generation, encode(token, 'hex') as token, at
    from chaos.move order by number`;
  return { jobs, moves };
}
