import type { PgBoss } from "./boss.ts";
import type { SqlRunner } from "./database.ts";
import { SchemaUnfit } from "./schema.ts";

/** As many names as a message shows. */
const shownNames = 20;

/**
 * Checks that the migration has made the queue, and makes nothing: a misspelt name would be a queue that nobody works. Returns the queue's
 * own id.
 *
 * @throws SchemaUnfit
 */
export async function verifyQueue(
  boss: PgBoss,
  db: SqlRunner,
  table: string,
  { queueName: name, schema }: { readonly queueName: string; readonly schema: string },
): Promise<string> {
  const { rows } = await db.executeSql(
    `select queue as name, id::text as id from ${table} order by queue = $1 desc, queue limit $2`,
    [name, shownNames],
  );
  const [first] = rows;
  const found = first?.["name"] === name ? await boss.getQueue(name) : null;
  if (first === undefined || found === null) {
    const names = rows.map((row) => `"${String(row["name"])}"`).join(", ");
    throw new SchemaUnfit(
      `schema "${schema}" has no queue "${name}"${names === "" ? "" : ` (it has ${names})`}: ` +
        `correct the name, or run migratePostgresTaskQueue({ queueName: "${name}", … }) once`,
    );
  }
  if (found.policy !== "standard")
    throw new SchemaUnfit(
      `queue "${name}" has pg-boss's policy ${String(found.policy)}, and tasks need a standard one: take another queueName`,
    );
  return first["id"] as string;
}
