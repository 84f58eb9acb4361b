import { RuntimeFailureError } from "../../capability/index.ts";
import type { JobsConfig } from "../config.ts";
import type { Database } from "../store/database.ts";
import { toRuntimeFailure } from "../store/database-failure.ts";
import { DatabaseError } from "../store/drivers/database-error.ts";
import { checkInstanceKey, readInstanceKey } from "../store/queries/register-instance.ts";
import { schemaProblem } from "../store/schema/schema-problem.ts";
import { readSchemaState } from "../store/schema/schema-state.ts";
import { engineSettings, startupParameters } from "../store/session-settings.ts";
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
    await verifySession(db, config.transaction_pooler);
    const recorded = await readInstanceKey(sqlContext(schema, databaseClock))(db);
    checkInstanceKey(recorded, instanceKey);
  } catch (error) {
    throw refusedSettings(error) ?? toRuntimeFailure(error);
  }
}

/** PgBouncer gives all of its errors one code, so only the text tells this one, which no later try mends. */
function refusedSettings(error: unknown): RuntimeFailureError | undefined {
  if (!(error instanceof DatabaseError) || error.code !== "08P01") return undefined;
  if (!error.serverMessage.includes("startup parameter")) return undefined;
  return new RuntimeFailureError(
    "invalid_resolved_plan",
    `the pooler refuses the settings that a connection begins with: set transaction_pooler: true; or, in session mode, let PgBouncer have "ignore_startup_parameters = ${startupParameters.join(", ")}"`,
  );
}

/**
 * Looks at the session that the Instance's statements get. What it asks for at start-up does not reach one behind a pooler: then the role
 * must carry what they rely on. And a standby would refuse every write.
 */
async function verifySession(db: Database, transactionPooler: boolean): Promise<void> {
  const wanted = Object.entries({ ...engineSettings, ...limits });
  const text = `select current_user as role, pg_catalog.pg_is_in_recovery() as standby, ${wanted.map(([name], index) => `pg_catalog.current_setting('${name}') as s${index}`).join(", ")}`;
  const [row] = await db.query("side", text, []);
  if (row?.standby === true) {
    throw new RuntimeFailureError(
      "unavailable",
      "the server is a standby, which takes no writes: name the primary, or start again when it is promoted",
    );
  }
  const wrong = wanted.filter(([name, value], index) => !serves(name, String(row?.[`s${index}`]), value));
  if (wrong.length === 0) return;
  const role = String(row?.role).replaceAll('"', '""');
  const commands = wrong.map(([name, value]) => `alter role "${role}" set ${name} = '${value}';`);
  const why = transactionPooler
    ? "transaction_pooler: the role must carry the session settings of the engine"
    : "the session settings of the engine do not reach the server, as behind a pooler that ignores them: the role must carry them";
  throw new RuntimeFailureError(
    "invalid_resolved_plan",
    `${why}; run: ${commands.join(" ")} Then restart the pooler, which remembers what its connections began with`,
  );
}

/** Without them a statement that waits for a row would wait until its connection counts as dead. */
const limits = { statement_timeout: "15s", lock_timeout: "5s" };

function serves(name: string, found: string, wanted: string): boolean {
  if (name in limits) return found !== "0";
  // A client may ask for another order of day and month; what is printed is the same.
  return name === "DateStyle" ? found.startsWith("ISO") : found === wanted;
}
