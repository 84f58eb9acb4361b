import { sql } from "kysely";
import type { JobStatus } from "../../../capability/index.ts";
import type { JobId } from "../../job-id.ts";
import { numberArray } from "../array-literal.ts";
import type { Database } from "../database.ts";
import type { JobEvidence } from "../job-store.ts";
import { queryBuilder } from "../tables.ts";
import { rfc3339 } from "../timestamp-text.ts";

/** What one snapshot shows of each job; undefined where there is none of that id. */
export type InspectJobs = (
  db: Database,
  ids: readonly JobId[],
) => Promise<readonly (JobEvidence | undefined)[]>;

/**
 * A job that was never claimed is found in ready under the run time that it was created with; one that came back, through
 * the index of those. So no look-up walks the backlog.
 */
export function inspectJobs(schema: string): InspectJobs {
  const text = queryBuilder
    .withSchema(schema)
    .selectFrom("jobs as j")
    .leftJoin("name as n", "n.hash", "j.queue")
    .leftJoinLateral(
      (from) =>
        from
          .selectFrom("ready as r")
          .selectAll("r")
          .whereRef("r.queue", "=", "j.queue")
          .where("r.next_run", "=", sql<string>`greatest(j.requested_at, j.created_at)`)
          .whereRef("r.id", "=", "j.id")
          .where("r.generation", "=", sql.lit("0"))
          .offset(none)
          .as("f"),
      onTrue,
    )
    .leftJoinLateral(
      (from) =>
        from
          .selectFrom("ready as r")
          .selectAll("r")
          .whereRef("r.id", "=", "j.id")
          .where("r.generation", ">", sql.lit("0"))
          .offset(none)
          .as("b"),
      onTrue,
    )
    .leftJoinLateral(
      (from) => from.selectFrom("lease").selectAll().whereRef("lease.id", "=", "j.id").offset(none).as("l"),
      onTrue,
    )
    .leftJoinLateral(
      (from) =>
        from.selectFrom("outcome").selectAll().whereRef("outcome.id", "=", "j.id").offset(none).as("o"),
      onTrue,
    )
    .where("j.id", "=", sql<string>`any (${sql.val("ids")}::text::bigint[])`)
    .select([
      sql<string>`j.id::text`.as("row"),
      sql<string>`encode(j.nonce, 'hex')`.as("nonce"),
      sql<string | null>`n.name`.as("queue"),
      "j.kind",
      sql<JobStatus | null>`case when l.id is not null then 'running' when o.state = 's' then 'succeeded'
        when o.state = 'f' then 'failed' when f.id is not null or b.id is not null then 'queued' end`.as(
        "status",
      ),
      sql<number>`coalesce(f.attempt, b.attempt, l.attempt, o.attempt)::int`.as("attempts"),
      sql<number>`j.max_attempts::int`.as("max_attempts"),
      sql<string>`coalesce(f.next_run, b.next_run, l.next_run, o.next_run)::text`.as("available_at"),
      sql<string | null>`l.expires_at::text`.as("expires_at"),
      sql<string | null>`coalesce(f.last_code, b.last_code, l.last_code, o.code)`.as("code"),
      sql<string>`j.created_at::text`.as("created_at"),
      sql<string>`coalesce(f.updated_at, b.updated_at, l.updated_at, o.finished_at)::text`.as("updated_at"),
    ])
    .compile().sql;
  return async (db, ids) => {
    const rows = (await db.query("side", text, [
      numberArray(ids.map((id) => id.row)),
    ])) as unknown as InspectedRow[];
    const found = new Map(rows.map((row) => [row.row + row.nonce, row]));
    return ids.map((id) => {
      const row = found.get(id.row + id.nonce);
      return row?.status ? evidence(row, row.status) : undefined;
    });
  };
}

/** `offset 0` keeps each look-up one by id: as plain joins they may walk a whole index on stale statistics. */
const none = sql.lit(0);
const onTrue = <Join extends { onTrue(): Join }>(join: Join): Join => join.onTrue();

interface InspectedRow {
  readonly row: string;
  readonly nonce: string;
  readonly queue: string | null;
  readonly kind: string;
  readonly status: JobStatus | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly available_at: string;
  readonly expires_at: string | null;
  readonly code: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

function evidence(row: InspectedRow, status: JobStatus): JobEvidence {
  return {
    // Names are recorded before a job can refer to them and are never deleted.
    queue: row.queue ?? "",
    kind: row.kind,
    status,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    availableAt: rfc3339(row.available_at),
    leaseExpiresAt: row.expires_at === null ? null : rfc3339(row.expires_at),
    lastFailureCode: row.code,
    createdAt: rfc3339(row.created_at),
    updatedAt: rfc3339(row.updated_at),
  };
}
