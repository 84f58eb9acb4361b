import { expect } from "bun:test";
import { SQL } from "bun";
import { brokenRows } from "../../support/broken-rows.ts";
import { jobsSchema } from "./jobs-database.ts";

/** Connections of a test's own: as many at once as it asks for, the superuser's. */
export function observer(url: string, connections = 4): SQL {
  return new SQL(url, { max: connections });
}

/** Waits until so many statements in this database wait for a lock. Looks again and again, since a lock tells nobody. */
export async function untilLocksWaitedFor(sql: SQL, count = 1, kind: string = "%"): Promise<void> {
  await until(`${count} statements waiting for a lock`, async () => {
    const [row] = await sql`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and wait_event like ${kind}`;
    return row.waiting >= count;
  });
}

/** Polls a condition up to a limit; throws what it waited for. */
export async function until(
  what: string,
  condition: () => Promise<boolean>,
  limitMs = 15_000,
): Promise<void> {
  for (const deadline = performance.now() + limitMs; !(await condition()); await Bun.sleep(5)) {
    if (performance.now() > deadline) throw new Error(`waited ${limitMs} ms for ${what}`);
  }
}

/** Every job is in exactly one of ready, lease and outcome, and nothing is there without its job. Answers how many jobs there are. */
export async function expectEachJobInOnePlace(sql: SQL, schema: string = jobsSchema): Promise<number> {
  const [row] = await sql.unsafe(`
    select (select count(*)::int from ${schema}.jobs) as jobs,
      (select count(*)::int from (
        select j.id from ${schema}.jobs j
        left join (select id from ${schema}.ready union all select id from ${schema}.lease union all select id from ${schema}.outcome) p
          on p.id = j.id
        group by j.id having count(p.id) <> 1) as misplaced) as misplaced,
      (select count(*)::int from (
        select id from ${schema}.ready union all select id from ${schema}.lease union all select id from ${schema}.outcome) p
        where not exists (select from ${schema}.jobs j where j.id = p.id)) as orphans`);
  expect({ misplaced: row.misplaced, orphans: row.orphans }).toEqual({ misplaced: 0, orphans: 0 });
  expect([...(await sql.unsafe(brokenRows(schema)))]).toEqual([]);
  return row.jobs;
}

/** Connections of the plugin to this database. */
export async function pluginConnections(sql: SQL): Promise<number> {
  const [row] = await sql`
    select count(*)::int as open from pg_stat_activity
    where datname = current_database() and application_name = 'lenso-jobs'`;
  return row.open;
}

export interface Watched<T> {
  readonly promise: Promise<T>;
  readonly open: boolean;
}

/** Whether a promise is still open, and its value once it is not. */
export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched = { promise, open: true };
  void promise.then(
    () => {
      watched.open = false;
    },
    () => {
      watched.open = false;
    },
  );
  return watched;
}
