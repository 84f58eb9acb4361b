// A PostgreSQL server to try the example on: bun run database. It ends with this command, and its data with it.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { startPostgres } from "lenso-jobs-plugin/host-fixtures";

const data = resolve(process.env["SLICER_DATA"] ?? join(import.meta.dir, "data"));
const file = join(import.meta.dir, "local.env");
const ended = Promise.withResolvers<void>();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => ended.resolve());

const server = await startPostgres();
try {
  const url = await server.createDatabase("slicer");
  await mkdir(data, { recursive: true });
  await writeFile(
    file,
    `export DATABASE_URL=${url}\nexport SLICER_DATA='${data.replaceAll("'", "'\\''")}'\n`,
    { mode: 0o600 },
  );
  console.log(`PostgreSQL ${server.version} is running; Ctrl-C ends it and removes its data.`);
  console.log("In another terminal, at the repository's root: source examples/slicer/local.env");
  await ended.promise;
} finally {
  await rm(file, { force: true });
  await server.stop();
}
