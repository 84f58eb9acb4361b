// Installs or upgrades the tables of the queue and those of the job host: bun run migrate. Run it before the first start and with every release.
import { migrateJobHost } from "lenso-jobs-plugin/job-provider/host";
import { setup } from "lenso-jobs-plugin/operator";
import { jobHostOptions } from "./job-host.ts";

const { connectionString = "", schema = "job_host" } = jobHostOptions().database;

const report = await setup({ databaseUrl: connectionString, schema: "jobs" });
if (!report.ok) throw new Error(report.message);
await migrateJobHost({ connectionString, schema });
console.log(
  `The tables of the queue and of the job host are up to date, in the schemas "jobs" and "${schema}".`,
);
