import type { Row, SqlValue } from "../../../plugin/store/drivers/driver.ts";

/** The tables of the record, as `migrateJobsTaskQueue` makes them. */
export type RecordTable = "queue" | "task" | "deduplication_key" | "lenso_tasks_ledger";

/** Where the records of one queue are, and something that runs a statement on them: a pool, or a caller's own transaction. */
export interface RecordSession {
  /** The queue whose records these are; every statement takes it as its first parameter. */
  readonly queue: string;
  /** The one clock of every statement, a VOLATILE expression. PostgreSQL's own, except in tests that move time. */
  readonly clock: string;
  /** A table, quoted and qualified. */
  table(name: RecordTable): string;
  /** Runs one statement. Parameters are texts, cast in it; columns are single words, so that no plugin of a client renames them. */
  query(text: string, values: readonly SqlValue[]): Promise<readonly Row[]>;
}

/** An instant as the wire has it, whatever the session's time zone and style. */
export function instantText(expression: string): string {
  return `to_char((${expression}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** The moment so many seconds after another one. */
export function secondsAfter(expression: string, parameter: string): string {
  return `${expression} + make_interval(secs => ${parameter}::text::float8)`;
}
