import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError } from "../../../plugin/store/drivers/database-error.ts";
import type { Session } from "../../../plugin/store/drivers/driver.ts";
import { quoteIdentifier } from "../../../plugin/store/schema/identifier.ts";
import type { Migration } from "../../../plugin/store/schema/migrations.ts";
import { TaskQueueError } from "../../task-queue-error.ts";
import {
  checkMigrateOptions,
  databaseOf,
  type JobsTaskDatabase,
  type JobsTaskProviderOptions,
} from "../options.ts";
import { RecordDatabase } from "../records/record-database.ts";
import { readTaskMigrations } from "./migrations.ts";
import { taskSchemaProblem } from "./schema-problem.ts";
import { grantTaskRuntime } from "./task-grants.ts";
import { createTaskLedger, readTaskSchema, recordTaskMigration } from "./task-ledger.ts";
import { TaskSchemaUnfit } from "./verify-task-schema.ts";

/** Where to install the record. The provider's options fit as they are. */
export type MigrateJobsTaskQueueOptions = JobsTaskDatabase &
  Partial<JobsTaskProviderOptions> & {
    /**
     * A role that the provider logs in as, other than the one that migrates: it gets exactly what the provider needs, also on a schema that
     * exists, and can then change no table, no other row of the schema and nothing that a task was recorded with. Name it at every
     * migration, since a later one may need more. Default: no grants.
     */
    readonly runtimeRole?: string;
  };

const maxTries = 20;

/**
 * Installs the record of `createJobsTaskProvider`, or brings it to this build's version: all or nothing, in one transaction. Running
 * it again changes nothing, and any number at once are safe. A schema that something else made is refused, never adopted.
 *
 * @throws TaskQueueError `invalid-options`, or `provider-unavailable` with the reason in `cause`.
 * @example
 * await migrateJobsTaskQueue({ connectionString: process.env.MIGRATION_URL, runtimeRole: "reports_app" });
 */
export async function migrateJobsTaskQueue(options: MigrateJobsTaskQueueOptions): Promise<void> {
  return migrateWith(await readTaskMigrations(), options);
}

/** @internal The same for a build that knows these migrations. */
export async function migrateWith(
  migrations: readonly Migration[],
  options: MigrateJobsTaskQueueOptions,
): Promise<void> {
  const checked = checkMigrateOptions(options);
  const database = new RecordDatabase(databaseOf(checked));
  try {
    await tryRepeatedly(() =>
      database.transaction(async (session) => {
        const isNewer = await migrateSchema(session, checked.schema, migrations);
        const { schema, runtimeRole: role } = checked;
        if (role !== undefined) await grantTaskRuntime(session, { schema, role, isNewer });
      }),
    );
  } catch (cause) {
    throw cause instanceof TaskQueueError
      ? cause
      : new TaskQueueError("provider-unavailable", "migrate", { cause });
  } finally {
    await database.close();
  }
}

/** Whether a newer build was here before. */
async function migrateSchema(
  session: Session,
  schema: string,
  migrations: readonly Migration[],
): Promise<boolean> {
  await session.script(openingOf(schema));
  const state = await readTaskSchema(session, schema, migrations);
  const lookIn = `set local search_path = ${quoteIdentifier(schema)}, pg_temp;`;
  if (state.kind === "absent") {
    await session.script(`create schema ${quoteIdentifier(schema)};\n${lookIn}\n${createTaskLedger}`);
    await apply(session, migrations);
  } else if (state.kind === "managed" && state.version < migrations.length) {
    await session.script(lookIn);
    await apply(session, migrations.slice(state.version));
  } else {
    const problem = taskSchemaProblem(state, schema, migrations.length);
    if (problem !== undefined) throw new TaskSchemaUnfit(problem);
  }
  return state.kind === "managed" && state.version > migrations.length;
}

async function apply(session: Session, migrations: readonly Migration[]): Promise<void> {
  for (const migration of migrations)
    await session.script(`${migration.text}\n${recordTaskMigration(migration)}`);
}

/**
 * The lock comes before the first look, so the second of two sees what the first one committed. A table that live traffic holds is
 * waited for half a second, so that nothing queues behind us for longer.
 */
function openingOf(schema: string): string {
  const key = createHash("sha256").update(`lenso-tasks\0${schema}`).digest().readBigInt64BE(0);
  return `set transaction isolation level read committed, read write;
set local search_path = pg_catalog, pg_temp;
set local statement_timeout = 0;
set local lock_timeout = '30s';
select pg_advisory_xact_lock(${key});
set local lock_timeout = '500ms';`;
}

async function tryRepeatedly(work: () => Promise<void>): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      // Serialisation, deadlock, a held table, or a schema that something else created between our look and our step.
      const mayPass =
        error instanceof DatabaseError && ["40001", "40P01", "55P03", "42P06", "23505"].includes(error.code);
      if (!mayPass || tried === maxTries) throw error;
    }
    await sleep(50 + Math.random() * 200);
  }
}
