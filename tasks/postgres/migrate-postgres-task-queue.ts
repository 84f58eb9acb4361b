import { setTimeout as sleep } from "node:timers/promises";
import { adviseOnDatabase, placeOf } from "../advise-on-database.ts";
import { callQuietly } from "../logger.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import { asBossDb, openBoss, type PgBoss } from "./boss.ts";
import { type Database, openDatabase } from "./database.ts";
import {
  checkMigrateOptions,
  type MigratePostgresTaskQueueOptions,
  type MigratePostgresTaskQueueSettings,
} from "./options.ts";
import { ensureQueue } from "./queue.ts";
import { migrateSchema, qualified, SchemaUnfit } from "./schema.ts";

/** Longest wait for the indexes that an upgrade of pg-boss builds in the background. */
const indexesWithinMs = 1_800_000;

/**
 * Installs or upgrades pg-boss and our tables in one schema, on a database that may be in use; with a `queueName` it makes the queue as
 * well. The only thing that changes a schema. Safe to repeat, and when several run at once. Needs the right to create the schema, or
 * to create in it when it exists.
 *
 * The provider itself changes no table. A role of its own needs, after every migration, `grant usage on schema pgboss to app` and
 * `grant select, insert, update, delete on all tables in schema pgboss to app`: pg-boss names no narrower set.
 *
 * @throws TaskQueueError `invalid-options`, or `provider-unavailable` with what the database said in `cause`
 *
 * @example
 * await migratePostgresTaskQueue({ connectionString, queueName: "reports" });
 */
export async function migratePostgresTaskQueue(options: MigratePostgresTaskQueueOptions): Promise<void> {
  const settings = checkMigrateOptions(options);
  const db = openDatabase(settings);
  try {
    await migrate(db, settings);
  } catch (cause) {
    if (cause instanceof TaskQueueError) throw cause;
    if (cause instanceof SchemaUnfit) throw new TaskQueueError("invalid-options", "migrate", { cause });
    const grants = "migrate as a role that may create the schema, or owns it";
    const advice = adviseOnDatabase(cause, { place: placeOf(settings.connectionString), grants });
    throw new TaskQueueError("provider-unavailable", "migrate", { cause, advice });
  } finally {
    await db.close();
  }
}

async function migrate(db: Database, settings: MigratePostgresTaskQueueSettings): Promise<void> {
  const { schema, queueName } = settings;
  const { rows } = await db.executeSql("select to_regnamespace($1::text) is null as missing", [
    `"${schema}"`,
  ]);
  const boss = openBoss({
    ...settings,
    db: asBossDb({ executeSql: (text, values) => db.executeSql(text, values) }),
    migrate: true,
    createSchema: rows[0]?.["missing"] === true,
    onError: (error) => callQuietly(() => settings.onError?.(error)),
  });
  try {
    await boss.start();
    await migrateSchema(db, schema);
    if (queueName !== undefined)
      await ensureQueue(boss, db, qualified(schema, "lenso_task_queue"), queueName, settings);
    await indexesBuilt(boss);
  } finally {
    await boss.stop({ graceful: true, close: false });
  }
}

async function indexesBuilt(boss: PgBoss): Promise<void> {
  for (const deadline = Date.now() + indexesWithinMs; ; await sleep(250)) {
    const open = (await boss.getBamStatus()).filter(({ status }) => status !== "completed");
    if (open.length === 0) return;
    if (open.some(({ status }) => status === "failed"))
      throw new Error("pg-boss could not build an index: see getBamEntries()");
    if (Date.now() > deadline)
      throw new Error("pg-boss is still building indexes: run the migration again later");
  }
}
