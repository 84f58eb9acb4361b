import { readdir, readFile } from "node:fs/promises";
import { type Migration, parseMigration } from "../../../plugin/store/schema/migrations.ts";
import type { SchemaOwner } from "./schema-owner.ts";

/** Every migration of an owner that this build knows, in order. A build's number is the version of the newest one. */
export async function readMigrationsOf({ folder: name }: SchemaOwner): Promise<readonly Migration[]> {
  // Three folders up is the repository from tasks/jobs/migration, and dist/ from there.
  const folder = new URL(`../../../migrations/${name}/`, import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
  const migrations = await Promise.all(
    files.map(async (file) => parseMigration(file, await readFile(new URL(file, folder), "utf8"))),
  );
  for (const [index, { version }] of migrations.entries()) {
    if (version !== index + 1)
      throw new Error(`migrations/${name}/: expected version ${index + 1}, got ${version}`);
  }
  if (migrations.length === 0) throw new Error(`migrations/${name}/: no file found`);
  return migrations;
}
