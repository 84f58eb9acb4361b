import { type Migration, parseMigration, readMigrations } from "../../store/schema/migrations.ts";

/** This build's migrations and made-up later ones, each of which adds a table; for releases that do not exist yet. */
export async function migrationsUpTo(
  version: number,
  oldestBuilds: Readonly<Record<number, number>> = {},
): Promise<readonly Migration[]> {
  const known = await readMigrations();
  const later = Array.from({ length: Math.max(0, version - known.length) }, (_, index) =>
    laterMigration(known.length + 1 + index, oldestBuilds),
  );
  return [...known, ...later];
}

/** The next migration, with a text of the test's own after line 1. */
export async function withNextMigration(text: string): Promise<readonly Migration[]> {
  const known = await readMigrations();
  const file = `${String(known.length + 1).padStart(4, "0")}_trial.sql`;
  return [...known, parseMigration(file, `-- A trial. Oldest build: 1\n${text}\n`)];
}

function laterMigration(version: number, oldestBuilds: Readonly<Record<number, number>>): Migration {
  const text = `-- The previous release runs on it. Oldest build: ${oldestBuilds[version] ?? 1}
create table later_${version} (id bigint generated always as identity primary key, note text not null default 'it''s;');
alter table jobs add column later_${version} text;
`;
  return parseMigration(`${String(version).padStart(4, "0")}_later_${version}.sql`, text);
}
