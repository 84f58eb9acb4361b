import type { Row, SqlValue } from "../../../plugin/store/drivers/driver.ts";
import type { RecordSession } from "./record-session.ts";
import { openStates } from "./record-state.ts";

/** A table of records that are carried by Jobs jobs: it has `dispatch`, `delivery`, `job_id`, `run_at`, `look_at` and `lease_until`. */
export interface DispatchedTable {
  /** Quoted and qualified. */
  readonly name: string;
  /** The column and its value that part the records of one queue from those of others. */
  readonly owner: readonly [column: string, value: string];
  /** The states of records that still have to be carried, as an SQL list. */
  readonly open: string;
  readonly clock: string;
  query(text: string, values: readonly SqlValue[]): Promise<readonly Row[]>;
}

/** The tasks of a queue. */
export function dispatchedTasks(session: RecordSession): DispatchedTable {
  return {
    name: session.table("task"),
    owner: ["queue", session.queue],
    open: openStates,
    clock: session.clock,
    query: session.query,
  };
}
