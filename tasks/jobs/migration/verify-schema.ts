import { SafeCause } from "../../task-queue-error.ts";
import type { RecordDatabase } from "../records/record-database.ts";
import { readMigrationsOf } from "./migrations.ts";
import { readSchema } from "./schema-ledger.ts";
import type { SchemaOwner } from "./schema-owner.ts";
import { schemaProblem } from "./schema-problem.ts";

/** Why a schema cannot be worked with; the message names what to run. */
export class SchemaUnfit extends SafeCause {
  override readonly name = "SchemaUnfit";
}

/** Checks that this build can work on the schema, and changes nothing. @throws SchemaUnfit */
export async function verifySchema(
  database: RecordDatabase,
  owner: SchemaOwner,
  schema: string,
): Promise<void> {
  const migrations = await readMigrationsOf(owner);
  const state = await readSchema(database, owner, schema, migrations);
  const problem = schemaProblem(owner, state, schema, migrations.length);
  if (problem !== undefined) throw new SchemaUnfit(problem);
}
