import { readdir, readFile } from "node:fs/promises";
import { type Migration, parseMigration } from "../../../plugin/store/schema/migrations.ts";

/** Every migration of the record that this build knows, in order. A build's number is the version of the newest one. */
export async function readTaskMigrations(): Promise<readonly Migration[]> {
  // Three folders up is the repository from tasks/jobs/migration, and dist/ from there.
  const folder = new URL("../../../migrations/tasks/", import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  const migrations = await Promise.all(
    files.map(async (name) => parseMigration(name, await readFile(new URL(name, folder), "utf8"))),
  );
  for (const [index, { version }] of migrations.entries()) {
    if (version !== index + 1)
      throw new Error(`migrations/tasks/: expected version ${index + 1}, got ${version}`);
  }
  if (migrations.length === 0) throw new Error("migrations/tasks/: no file found");
  return migrations;
}
