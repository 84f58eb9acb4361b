import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";

/** One step of the schema: a numbered SQL file, frozen once released. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  /** SHA-256 over version, name and text, in hex. */
  readonly checksum: string;
  /** The oldest build that may still run once this migration is applied, from line 1 of the file. */
  readonly oldestBuild: number;
}

/**
 * Every migration that this build knows, in order. A build's number is the version of the newest one.
 *
 * Throws when a file breaks the rules for names, numbers or line 1: that is a broken package, not a state of the database.
 */
export async function readMigrations(): Promise<readonly Migration[]> {
  // Three folders up is the repository from plugin/store/schema, and dist/ (where the build copies the files) from there.
  const folder = new URL("../../../migrations/", import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return inSequence(
    await Promise.all(
      files.map(async (name) => parseMigration(name, await readFile(new URL(name, folder), "utf8"))),
    ),
  );
}

/** The number of the build that knows these migrations. */
export function buildOf(migrations: readonly Migration[]): number {
  return migrations.length;
}

/** Reads `0001_name.sql`. Line ends count as LF, so that a checkout on another system has the same checksum. */
export function parseMigration(fileName: string, contents: string): Migration {
  const [, digits, name] = /^(\d{4})_([a-z][a-z0-9_]*)\.sql$/.exec(fileName) ?? [];
  if (digits === undefined || name === undefined) {
    throw new Error(`migrations/${fileName}: expected a name as 0001_jobs.sql`);
  }
  const version = Number(digits);
  const text = contents.replaceAll("\r\n", "\n");
  const oldestBuild = Number(/^-- .*\bOldest build: (\d+)$/.exec(text.slice(0, text.indexOf("\n")))?.[1]);
  if (!(oldestBuild >= 1 && oldestBuild <= version)) {
    throw new Error(
      `migrations/${fileName}: line 1 must be a comment that says whether the previous release runs on it and ends with "Oldest build: N", 1..${version}`,
    );
  }
  const checksum = createHash("sha256")
    .update(JSON.stringify([version, name, text]))
    .digest("hex");
  return { version, name, text, checksum, oldestBuild };
}

function inSequence(migrations: readonly Migration[]): readonly Migration[] {
  for (const [index, { version }] of migrations.entries()) {
    if (version !== index + 1) throw new Error(`migrations/: expected version ${index + 1}, got ${version}`);
  }
  if (migrations.length === 0) throw new Error("migrations/: no file found");
  return migrations;
}
