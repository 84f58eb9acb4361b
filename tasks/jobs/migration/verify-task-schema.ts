import type { RecordDatabase } from "../records/record-database.ts";
import { readTaskMigrations } from "./migrations.ts";
import { taskSchemaProblem } from "./schema-problem.ts";
import { readTaskSchema } from "./task-ledger.ts";

/** Why a schema cannot be worked with; the message names what to run. */
export class TaskSchemaUnfit extends Error {
  override readonly name = "TaskSchemaUnfit";
}

/** Checks that this build can work on the schema, and changes nothing. @throws TaskSchemaUnfit */
export async function verifyTaskSchema(database: RecordDatabase, schema: string): Promise<void> {
  const migrations = await readTaskMigrations();
  const state = await readTaskSchema(database, schema, migrations);
  const problem = taskSchemaProblem(state, schema, migrations.length);
  if (problem !== undefined) throw new TaskSchemaUnfit(problem);
}
