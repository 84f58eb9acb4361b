import { SafeCause } from "../task-queue-error.ts";
import type { Database, SqlRunner } from "./database.ts";

/**
 * What pg-boss lacks, in its schema under a prefix of ours. A step is frozen once released; its comment says whether the release
 * before still runs on it.
 */
const steps: readonly ((schema: string) => string)[] = [
  // 1: the first.
  (schema) => `
    create table ${schema}.lenso_task_queue (
      queue text primary key,
      id uuid not null default gen_random_uuid()
    );
    -- Never deleted: the key of a pruned job must not start a new one.
    create table ${schema}.lenso_task_key (
      queue text not null,
      key text not null,
      job_id uuid not null,
      digest text not null,
      primary key (queue, key)
    );
    -- Requests to cancel a running job. A row goes with its job.
    create table ${schema}.lenso_task_cancel (
      job_id uuid primary key,
      queue text not null,
      requested_at timestamptz not null default now()
    );`,
];

/** The step this release needs. */
const wanted = steps.length;

/** Why a schema cannot be worked with; says which command helps. */
export class SchemaUnfit extends SafeCause {
  override readonly name = "SchemaUnfit";
}

export function qualified(schema: string, table: string): string {
  return `"${schema}"."${table}"`;
}

/** @throws SchemaUnfit */
export async function verifySchema(db: SqlRunner, schema: string): Promise<void> {
  const meta = qualified(schema, "lenso_task_meta");
  const { rows: made } = await db.executeSql("select to_regclass($1::text) is not null as there", [meta]);
  if (made[0]?.["there"] !== true) throw new SchemaUnfit(`schema "${schema}" holds no task queue: ${advice}`);
  const { rows } = await db.executeSql(`select version, oldest from ${meta}`, []);
  const version = Number(rows[0]?.["version"]);
  const oldest = Number(rows[0]?.["oldest"]);
  if (version < wanted)
    throw new SchemaUnfit(
      `schema "${schema}" is at step ${version}, this release needs ${wanted}: ${advice}`,
    );
  if (oldest > wanted)
    throw new SchemaUnfit(
      `schema "${schema}" takes releases from step ${oldest} on, this one knows ${wanted}: update lenso-jobs-plugin`,
    );
}

export const advice = "run migratePostgresTaskQueue({ … }) once before the application starts";

/** Installs what is missing, in one transaction under a lock of its own: others wait and find nothing to do. */
export async function migrateSchema(db: Database, schema: string): Promise<void> {
  const meta = qualified(schema, "lenso_task_meta");
  await db.transaction(async (transaction) => {
    await transaction.executeSql(
      "select pg_advisory_xact_lock(hashtextextended('lenso-tasks ' || $1::text, 0))",
      [schema],
    );
    await transaction.executeSql(
      `create table if not exists ${meta} (
         only_row boolean primary key default true check (only_row),
         version integer not null,
         oldest integer not null
       )`,
    );
    await transaction.executeSql(
      `insert into ${meta} (version, oldest) values (0, 1) on conflict (only_row) do nothing`,
    );
    const { rows } = await transaction.executeSql(`select version from ${meta}`);
    const version = Number(rows[0]?.["version"]);
    for (const step of steps.slice(version)) await transaction.executeSql(step(`"${schema}"`));
    if (version < wanted) await transaction.executeSql(`update ${meta} set version = ${wanted}, oldest = 1`);
  });
}
