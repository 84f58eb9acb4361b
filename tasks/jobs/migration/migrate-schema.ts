import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError } from "../../../plugin/store/drivers/database-error.ts";
import type { Session } from "../../../plugin/store/drivers/driver.ts";
import { quoteIdentifier } from "../../../plugin/store/schema/identifier.ts";
import type { Migration } from "../../../plugin/store/schema/migrations.ts";
import { RecordDatabase, type RecordDatabaseOptions } from "../records/record-database.ts";
import { grantRuntime } from "./grant-runtime.ts";
import { createLedger, readSchema, recordMigration } from "./schema-ledger.ts";
import type { SchemaOwner } from "./schema-owner.ts";
import { schemaProblem } from "./schema-problem.ts";
import { SchemaUnfit } from "./verify-schema.ts";

const maxTries = 20;

/**
 * Installs an owner's schema, or brings it to the version of these migrations, and grants a role what it needs: all or nothing, in one
 * transaction. Running it again changes nothing, and any number at once are safe.
 *
 * @throws SchemaUnfit for a schema that something else made; RoleUnfit; DatabaseError
 */
export async function migrateSchema(
  owner: SchemaOwner,
  migrations: readonly Migration[],
  target: {
    readonly database: RecordDatabaseOptions;
    readonly schema: string;
    readonly runtimeRole?: string | undefined;
  },
): Promise<void> {
  const { schema, runtimeRole: role } = target;
  const database = new RecordDatabase(target.database);
  try {
    await tryRepeatedly(() =>
      database.transaction(async (session) => {
        const isNewer = await bringUp(session, owner, schema, migrations);
        if (role !== undefined) await grantRuntime(session, owner, { schema, role, isNewer });
      }),
    );
  } finally {
    await database.close();
  }
}

/** Whether a newer build was here before. */
async function bringUp(
  session: Session,
  owner: SchemaOwner,
  schema: string,
  migrations: readonly Migration[],
): Promise<boolean> {
  await session.script(openingOf(owner, schema));
  const state = await readSchema(session, owner, schema, migrations);
  const lookIn = `set local search_path = ${quoteIdentifier(schema)}, pg_temp;`;
  if (state.kind === "absent") {
    await session.script(`create schema ${quoteIdentifier(schema)};\n${lookIn}\n${createLedger(owner)}`);
    await apply(session, owner, migrations);
  } else if (state.kind === "managed" && state.version < migrations.length) {
    await session.script(lookIn);
    await apply(session, owner, migrations.slice(state.version));
  } else {
    const problem = schemaProblem(owner, state, schema, migrations.length);
    if (problem !== undefined) throw new SchemaUnfit(problem);
  }
  return state.kind === "managed" && state.version > migrations.length;
}

async function apply(session: Session, owner: SchemaOwner, migrations: readonly Migration[]): Promise<void> {
  for (const migration of migrations)
    await session.script(`${migration.text}\n${recordMigration(owner, migration)}`);
}

/**
 * The lock comes before the first look, so the second of two sees what the first one committed. A table that live traffic holds is
 * waited for half a second, so that nothing queues behind us for longer.
 */
function openingOf({ lock }: SchemaOwner, schema: string): string {
  const key = createHash("sha256").update(`${lock}\0${schema}`).digest().readBigInt64BE(0);
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
