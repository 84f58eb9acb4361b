import { SQL } from "bun";
import { forward, type TestClock } from "./clock.ts";

/** The clock of one test database, for a plugin whose statements read `lenso_test_clock.now()`. */
export interface DatabaseClock extends TestClock, AsyncDisposable {
  /** Stops the clock at its present instant; from then on it moves only by `advance`. */
  freeze(): Promise<void>;
  /** Lets the clock run on from where it stands. */
  thaw(): Promise<void>;
  close(): Promise<void>;
}

/** The SQL expression of the clock that {@link installDatabaseClock} makes. */
export const databaseClockExpression = "lenso_test_clock.now()";

const installation = `
  select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('lenso_test_clock'));
  create schema if not exists lenso_test_clock;
  create table if not exists lenso_test_clock.setting (
    only_one boolean primary key default true check (only_one),
    frozen_at timestamptz,
    ahead interval not null default '0'
  );
  insert into lenso_test_clock.setting default values on conflict do nothing;
  -- Volatile, so that each call has a snapshot of its own: a statement that waits sees an advance committed meanwhile.
  create or replace function lenso_test_clock.now() returns timestamptz language plpgsql volatile as $$
  begin
    return (select coalesce(frozen_at, pg_catalog.clock_timestamp() + ahead) from lenso_test_clock.setting);
  end $$;
  grant usage on schema lenso_test_clock to public;
  grant select on lenso_test_clock.setting to public;
`;

/** Puts a running clock into the database, once. Leaves no connection open, so it may prepare a template database. */
export async function installDatabaseClock(url: string): Promise<void> {
  await using sql = new SQL(url, { max: 1 });
  await sql.unsafe(installation).simple();
}

/** Moves the clock of a database that has one, over a connection of its own, also while statements of others wait. */
export function databaseClock(url: string): DatabaseClock {
  const sql = new SQL(url, { max: 1 });
  return {
    async now() {
      const [row] =
        await sql`select to_char(lenso_test_clock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`;
      return row.now;
    },
    async advance(milliseconds) {
      const step = forward(milliseconds);
      await sql`
        update lenso_test_clock.setting
        set frozen_at = frozen_at + ${step}::float8 * interval '1 millisecond',
            ahead = ahead + ${step}::float8 * interval '1 millisecond'`;
    },
    async freeze() {
      await sql`update lenso_test_clock.setting set frozen_at = lenso_test_clock.now()`;
    },
    async thaw() {
      await sql`
        update lenso_test_clock.setting
        set ahead = lenso_test_clock.now() - pg_catalog.clock_timestamp(), frozen_at = null`;
    },
    close: () => sql.close(),
    [Symbol.asyncDispose]: () => sql.close(),
  };
}
