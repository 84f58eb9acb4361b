import { RuntimeFailureError } from "../../capability/index.ts";
import type { JobsConfig } from "../config.ts";
import type { Database } from "../store/database.ts";
import { toRuntimeFailure } from "../store/database-failure.ts";
import { checkInstanceKey, readInstanceKey } from "../store/queries/register-instance.ts";
import { schemaProblem } from "../store/schema/schema-problem.ts";
import { readSchemaState } from "../store/schema/schema-state.ts";
import { engineSettings } from "../store/session-settings.ts";
import { databaseClock, sqlContext } from "../store/sql-context.ts";

/**
 * Checks that the Instance can work on its schema, and changes nothing.
 *
 * @throws RuntimeFailureError whose detail names the command to run next.
 */
export async function verifySchema(db: Database, config: JobsConfig, instanceKey: string): Promise<void> {
  const { schema } = config;
  try {
    const state = await readSchemaState({ query: (text, values) => db.query("side", text, values) }, schema);
    const problem = schemaProblem(state, schema);
    if (problem !== undefined) throw new RuntimeFailureError("invalid_resolved_plan", problem);
    if (config.transaction_pooler) await verifySettings(db);
    const recorded = await readInstanceKey(sqlContext(schema, databaseClock))(db);
    checkInstanceKey(recorded, instanceKey);
  } catch (error) {
    throw toRuntimeFailure(error);
  }
}

/** Behind a transaction pooler nothing can be set at start-up, so the role must carry what the engine's statements rely on. */
async function verifySettings(db: Database): Promise<void> {
  const wanted = Object.entries({ ...engineSettings, ...limits });
  const text = `select current_user as role, ${wanted.map(([name], index) => `current_setting('${name}') as s${index}`).join(", ")}`;
  const [row] = await db.query("side", text, []);
  const wrong = wanted.filter(([name, value], index) => !serves(name, String(row?.[`s${index}`]), value));
  if (wrong.length === 0) return;
  const role = String(row?.role).replaceAll('"', '""');
  const commands = wrong.map(([name, value]) => `alter role "${role}" set ${name} = '${value}';`);
  throw new RuntimeFailureError(
    "invalid_resolved_plan",
    `transaction_pooler: the role must carry the session settings of the engine; run: ${commands.join(" ")} Then restart the pooler, which remembers what its connections began with`,
  );
}

/** Without them a statement that waits for a row would wait until its connection counts as dead. */
const limits = { statement_timeout: "15s", lock_timeout: "5s" };

function serves(name: string, found: string, wanted: string): boolean {
  if (name in limits) return found !== "0";
  // A client may ask for another order of day and month; what is printed is the same.
  return name === "DateStyle" ? found.startsWith("ISO") : found === wanted;
}
