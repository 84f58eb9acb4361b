import type { Row, SqlValue } from "../../../plugin/store/drivers/driver.ts";

/** The tables of a job host, as `migrateJobHost` makes them. The ledger says when. */
export type JobTable =
  | "job"
  | "event"
  | "artifact"
  | "checkpoint"
  | "log"
  | "command"
  | "lenso_job_host_ledger";

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

/** A session on which some work is done by one at a time, in all processes. */
export interface LockingJobSession extends JobSession {
  /**
   * Runs work in one transaction that holds an advisory lock, a 64-bit integer as text, from before its first statement until it has ended.
   * The work may be run again, after PostgreSQL rolled it back.
   */
  alone<T>(lock: string, work: (session: JobSession) => Promise<T>): Promise<T>;
}
