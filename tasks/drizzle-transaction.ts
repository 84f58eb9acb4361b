type Rows = readonly Readonly<Record<string, unknown>>[];

/** What is used of the `tx` that drizzle's `db.transaction` gives, whichever PostgreSQL client is below. */
export interface DrizzleTransaction {
  execute(statement: string): Promise<Rows | { readonly rows: Rows }>;
}

/** Whether it can do what drizzle's databases and transactions do; only a transaction can roll itself back. */
export function isDrizzle(value: object): "database" | "transaction" | undefined {
  const like = value as Readonly<Record<string, unknown>>;
  if (typeof like["execute"] !== "function" || typeof like["transaction"] !== "function") return undefined;
  return typeof like["rollback"] === "function" ? "transaction" : "database";
}

/**
 * Runs a statement in a drizzle transaction. drizzle takes a text without values, so they are written into it as literals.
 *
 * @throws the error of the client below, without drizzle's own around it: that one's message quotes the statement, values included
 */
export async function runDrizzle(
  transaction: DrizzleTransaction,
  text: string,
  values: readonly unknown[],
): Promise<Rows> {
  const statement = text.replaceAll(/\$(\d+)/g, (_, number: string) => literal(values[Number(number) - 1]));
  try {
    const answer = await transaction.execute(statement);
    return [...("rows" in answer ? answer.rows : answer)];
  } catch (error) {
    const { cause } = error as { readonly cause?: unknown };
    throw cause instanceof Error ? cause : error;
  }
}

/** A text as a literal, whatever `standard_conforming_strings` is. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value !== "string") throw new TypeError(`a value of type ${typeof value} in a statement`);
  const quoted = `'${value.replaceAll("'", "''")}'`;
  return value.includes("\\") ? ` E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
