// A small job host for tests of its command line. JOBS_TEST_URL is its database, JOBS_TEST_FOLDER where its stores are.
import { join } from "node:path";
import { jobsPlugin } from "lenso-jobs-plugin";
import type { PluginFactory } from "lenso-jobs-plugin/capability";
import { secretsFromEnvironment } from "lenso-jobs-plugin/host-fixtures";
import { createFileArtifactStore, createFileRevisionStore } from "lenso-jobs-plugin/job-provider/files";
import type { JobHostOptions } from "lenso-jobs-plugin/job-provider/host";
import { counters } from "./counters.ts";

const counter: PluginFactory = {
  packageId: "test.counter",
  packageVersion: "1.0.0",
  requirements: [
    { id: "jobs", capability: "lenso.jobs@1", version: "1.0.0", cardinality: "one" },
    { id: "signals", capability: "lenso.jobs-signals@1", version: "1.0.0", cardinality: "optional" },
  ],
  capabilities: [],
  instantiate: () => ({ endpoints: [] }),
};

export const plugins: Readonly<Record<string, PluginFactory>> = {
  secrets: secretsFromEnvironment({ "jobs/database": "JOBS_TEST_URL" }),
  jobs: jobsPlugin,
  counter,
};
export const instance = "counter";

export function jobHostOptions(): Omit<JobHostOptions, "jobs" | "signals"> {
  const { JOBS_TEST_URL: connectionString = "", JOBS_TEST_FOLDER: folder = "" } = process.env;
  return {
    hostId: "counting",
    database: { connectionString },
    queue: "counts",
    leaseSeconds: 6,
    providers: counters(),
    revisions: createFileRevisionStore({ directory: join(folder, "revisions"), authorityId: "counting" }),
    artifacts: createFileArtifactStore({ directory: join(folder, "artifacts") }),
    workspaceDirectory: join(folder, "workspaces"),
  };
}
