import type { Row, SqlValue } from "../../../plugin/store/drivers/driver.ts";

/** The tables of a job host, as `migrateJobHost` makes them. */
export type JobTable = "job" | "event" | "artifact" | "checkpoint" | "log" | "command";

/** Where the records of one host are, and something that runs a statement on them. */
export interface JobSession {
  /** The host whose records these are; statements that look for jobs take it as their first parameter. */
  readonly hostId: string;
  /** The one clock of every statement, a VOLATILE expression. PostgreSQL's own, except in tests that move time. */
  readonly clock: string;
  /** A table, quoted and qualified. */
  table(name: JobTable): string;
  /** Runs one statement, which is its own transaction. Parameters are texts, cast in it; columns are single words. */
  query(text: string, values: readonly SqlValue[]): Promise<readonly Row[]>;
}
