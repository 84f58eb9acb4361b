// What the slicer's job host is made of: bun run jobs … --composition examples/slicer/host.json --jobs examples/slicer/job-host.ts
import { join, resolve } from "node:path";
import { jobsPlugin } from "lenso-jobs-plugin";
import type { PluginFactory } from "lenso-jobs-plugin/capability";
import { secretsFromEnvironment } from "lenso-jobs-plugin/host-fixtures";
import { createFileArtifactStore, createFileRevisionStore } from "lenso-jobs-plugin/job-provider/files";
import type { JobHostOptions } from "lenso-jobs-plugin/job-provider/host";
import { createFolderWorkshop, createSlicerProvider } from "./index.ts";

/** The module in whose name the job host calls the queue. */
const slicer: PluginFactory = {
  packageId: "examples.slicer",
  packageVersion: "1.0.0",
  requirements: [
    { id: "jobs", capability: "lenso.jobs@1", version: "1.0.0", cardinality: "one" },
    { id: "signals", capability: "lenso.jobs-signals@1", version: "1.0.0", cardinality: "optional" },
  ],
  capabilities: [],
  instantiate: () => ({ endpoints: [] }),
};

/** The plugins by the names that host.json uses. */
export const plugins: Readonly<Record<string, PluginFactory>> = {
  secrets: secretsFromEnvironment({ "slicer/database": "DATABASE_URL" }),
  jobs: jobsPlugin,
  slicer,
};

/** The Instance of host.json that is bound to the queue. */
export const instance = "slicer";

/** All of `createJobHost` but the clients, which come from the composition. @throws Error when a variable is missing */
export function jobHostOptions(): Omit<JobHostOptions, "jobs" | "signals"> {
  const connectionString = process.env["DATABASE_URL"];
  if (!connectionString) throw new Error("set DATABASE_URL to the database's URL");
  const data = resolve(process.env["SLICER_DATA"] ?? join(import.meta.dir, "data"));
  const workshop = createFolderWorkshop(join(data, "workshop"));
  return {
    hostId: "slicer",
    database: { connectionString },
    queue: "slices",
    leaseSeconds: 10, // the lease_seconds of host.json: short, so that a killed worker is soon noticed, and longer than joining a model blocks
    providers: [createSlicerProvider({ workshop })()],
    revisions: createFileRevisionStore({ directory: join(data, "revisions"), authorityId: "slicer" }),
    artifacts: createFileArtifactStore({ directory: join(data, "artifacts") }),
    workspaceDirectory: join(data, "workspaces"),
  };
}
