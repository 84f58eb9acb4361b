import type { SQL } from "bun";

/** What a scenario may put into a side's tables. */
export interface Rows {
  /** Due now, in the one queue. Made last, as what is about to run is newer than the history. */
  readonly due?: number;
  /** Due tomorrow. */
  readonly future?: number;
  /** Finished. */
  readonly finished?: number;
}

/** How a side's tables are read and filled behind its back, straight through SQL. All functions take the side's schema. */
export interface Tables {
  /** Forgets every job. */
  clear(sql: SQL, schema: string): Promise<void>;
  /** Whether a job is neither finished nor of the future. */
  hasWork(sql: SQL, schema: string): Promise<boolean>;
  /** Adds rows as the side itself would have, and analyzes. Undefined where nobody has worked out how. */
  fill?(sql: SQL, schema: string, rows: Rows): Promise<void>;
  /** The tables whose sizes tell how it fares. */
  readonly hot: readonly string[];
}

/** Rows are made in portions, so that no transaction is longer than some seconds. */
export async function inPortions(
  rows: number,
  insert: (from: number, to: number) => Promise<unknown>,
): Promise<void> {
  const portion = 250_000;
  for (let from = 1; from <= rows; from += portion) await insert(from, Math.min(rows, from + portion - 1));
}

/** The payload as SQL, the same bytes as `payloadOf`. */
export const payloadSql: string = `('{"text":"' || repeat('x', 78) || '","marker":0}')`;
