import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  createTestJobsPlugin,
  type Host,
  installDatabaseClock,
  secretsFromMap,
  startHost,
} from "../../../host-fixtures/index.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";
import { setup } from "../../../plugin/operator/index.ts";
import { sealDirectory } from "../../files/seal-directory.ts";
import type { JobRevisionStore } from "../../ports/job-revision-store.ts";
import type { JobRevision } from "../../submission/job-submit-input.ts";
import { migrateJobHost } from "../migration/migrate-job-host.ts";

export const leaseSeconds = 30;
export const queueName = "jobs";

/** Instances that use the Jobs Instance: `app` may do everything there, `stranger` nothing. */
export const modules = ["app", "other", "stranger"] as const;
export type Module = (typeof modules)[number];

/** Both schemas in one database, and a clock that both read. For `testDatabase`. */
export const jobHostTemplate = {
  template: "job_host_on_jobs",
  async prepare(url: string): Promise<void> {
    const report = await setup({ databaseUrl: url, schema: "jobs" });
    if (!report.ok) throw new Error(report.message);
    await migrateJobHost({ connectionString: url });
    await installDatabaseClock(url);
  },
} as const;

/** A composed host with a Jobs Instance. */
export function startJobsHost(url: string): Promise<Host> {
  const module = testPlugin({ provides: {}, needs: [{ id: "jobs", capability: "lenso.jobs@1" }] });
  const users = ["app", "other"];
  return startHost({
    instances: {
      secrets: { plugin: secretsFromMap({ "jobs/database": url }) },
      jobs: {
        plugin: createTestJobsPlugin(),
        configuration: {
          schema: "jobs",
          database_url_secret: "jobs/database",
          lease_seconds: leaseSeconds,
          retry_base_seconds: 1,
          retry_max_seconds: 1,
          queues: [queueName],
          producer_instances: users,
          worker_instances: users,
        },
      },
      ...Object.fromEntries(modules.map((key) => [key, { plugin: module }])),
    },
    bindings: [
      { consumer: "jobs", requirement: "secrets", provider: "secrets" },
      ...modules.map((consumer) => ({ consumer, requirement: "jobs", provider: "jobs" })),
    ],
  });
}

/** Seals an input of three files: `/a.txt`, `/b/c.txt` and `/unselected.txt`. */
export async function sealInput(directory: string, revisions: JobRevisionStore): Promise<JobRevision> {
  const source = await mkdtemp(join(directory, "input-"));
  await writeFile(join(source, "a.txt"), "alpha");
  await Bun.write(join(source, "b", "c.txt"), "charlie");
  await writeFile(join(source, "unselected.txt"), "not wanted");
  return sealDirectory(revisions, { workspaceId: "inputs", directory: source });
}

/** Forgets every job. Events are append-only for everybody else. */
export const emptyTables = `
  set session_replication_role = replica;
  truncate job_host.job, job_host.event, job_host.artifact, job_host.checkpoint, job_host.log, job_host.command;
  truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome;
  set session_replication_role = default;`;
