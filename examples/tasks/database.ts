// A PostgreSQL server to try the example on: bun run database. It ends with this command, and its data with it.
import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startPostgres } from "lenso-jobs-plugin/host-fixtures";

const file = join(import.meta.dir, "local.env");
const ended = Promise.withResolvers<void>();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => ended.resolve());

const server = await startPostgres();
try {
  const lines = [
    `export DATABASE_URL=${await server.createDatabase("reports")}`,
    `export TASK_SESSION_KEY=${randomBytes(32).toString("hex")}`,
    "export TASK_AUTH_SOURCE_MODULE=./auth/signed-sessions.ts",
  ];
  await writeFile(file, `${lines.join("\n")}\n`, { mode: 0o600 });
  console.log(`PostgreSQL ${server.version} is running; Ctrl-C ends it and removes its data.`);
  console.log("In another terminal, at the repository's root: source examples/tasks/local.env");
  await ended.promise;
} finally {
  await rm(file, { force: true });
  await server.stop();
}
