/** Whose schema it is, and all in which the schema of one owner is installed and checked otherwise than that of another. */
export interface SchemaOwner {
  /** Before `_marker` and `_ledger` in their names. */
  readonly prefix: string;
  /** What the marker's only row says. Drawn once, for this purpose: no other software writes it by chance. */
  readonly mark: string;
  /** Whose it is, in words. */
  readonly name: string;
  /** The function that installs and upgrades, by name. */
  readonly command: string;
  /** Folder of the SQL files, in `migrations/`. */
  readonly folder: string;
  /** Part of the lock that installations of one schema share. */
  readonly lock: string;
  /** What a runtime role may do, table by table. Marker and ledger are among them without being named. */
  readonly grants: readonly (readonly [table: string, privileges: string])[];
}

/** The record of the task provider on `lenso.jobs@1`. Whoever adds a statement to the records keeps the grants in step. */
export const taskSchema: SchemaOwner = {
  prefix: "lenso_tasks",
  mark: "lenso.tasks/jobs 7c1c4d0e-7f0f-4f6b-9d0b-3c1f2a5e9b64",
  name: "the task provider on lenso.jobs@1",
  command: "migrateJobsTaskQueue",
  folder: "tasks",
  lock: "lenso-tasks",
  grants: [
    ["queue", "select, insert"],
    ["deduplication_key", "select, insert"],
    // What a task was recorded with, no statement changes.
    [
      "task",
      `select, insert, delete, update (run_at, look_at, lease_until, finished_at, dispatch, delivery, attempt, max_attempts,
      cancel_requested, state, job_id, settled_by, error, result)`,
    ],
  ],
};
