import type { SchemaOwner } from "../../../tasks/jobs/migration/schema-owner.ts";

/** The records of a job host. Whoever adds a statement to them keeps the grants in step: what a job was accepted with, none changes. */
export const jobHostSchema: SchemaOwner = {
  prefix: "lenso_job_host",
  mark: "lenso.job-host 5a8f3c1d-9b0e-4d27-8c64-e1f0a7b29d35",
  name: "a job host",
  command: "migrateJobHost",
  folder: "job-host",
  lock: "lenso-job-host",
  grants: [
    [
      "job",
      `select, insert, update (run_at, look_at, lease_until, finished_at, progress_at, revision, dispatch, delivery, attempts,
      max_attempts, artifact_sequence, log_count, resumed_from, entered, unentered, state, job_id, settled_by, code, progress, result)`,
    ],
    ["event", "select, insert"],
    ["artifact", "select, insert, update (discarded_at)"],
    ["checkpoint", "select, insert, update (discarded_at)"],
    ["log", "select, insert"],
    ["command", "select, insert, update (lease_until, finished_at, runner, state, code, result)"],
  ],
};
