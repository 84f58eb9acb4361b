/** What the texts of an Instance's statements are built with, once. */
export interface SqlContext {
  /** A table of the Instance's schema, quoted and qualified. */
  table(name: TableName): string;
  /** The one clock of every statement, a VOLATILE expression. PostgreSQL's own, except in tests that move time. */
  readonly clock: string;
}

export type TableName = "name" | "instance" | "jobs" | "ready" | "lease" | "outcome" | "waiter";

/** The clock of production. `now()` would be the start of the statement's transaction, before any wait. */
export const databaseClock = "pg_catalog.clock_timestamp()";

export function sqlContext(schema: string, clock: string): SqlContext {
  return { clock, table: (name) => `"${schema.replaceAll('"', '""')}"."${name}"` };
}
