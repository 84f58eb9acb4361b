import { SQL } from "bun";
import type { PostgresServer } from "../../../host-fixtures/index.ts";
import { setup } from "../../../plugin/operator/index.ts";

/** A database of a run, as its processes reach it and as its watcher does. */
export interface ChaosDatabase {
  /** With the rights of a runtime role: the connections that a server keeps for its superuser are not for it. */
  readonly runtimeUrl: string;
  /** For whoever takes up connections: without a right to anything. */
  readonly crowdUrl: string;
  /**
   * Runs work on a superuser's connection of its own, again and again while the server is away: what it does must do no harm when it is
   * done twice. Rejects with the last failure after a minute.
   */
  asAdmin<T>(work: (sql: SQL) => Promise<T>): Promise<T>;
}

/** A fresh one. Triggers write each arrival of a job in ready, lease or outcome into `chaos.move`, so no write escapes them. */
export async function openChaosDatabase(server: PostgresServer): Promise<ChaosDatabase> {
  const url = await server.createDatabase("chaos");
  const asAdmin: ChaosDatabase["asAdmin"] = async (work) => {
    for (const deadline = performance.now() + 60_000; ; await Bun.sleep(100)) {
      const sql = new SQL(url, { max: 1, connectionTimeout: 10 });
      try {
        return await work(sql);
      } catch (error) {
        if (performance.now() > deadline) throw error;
      } finally {
        await sql.close({ timeout: 0 });
      }
    }
  };
  await asAdmin((sql) =>
    sql
      .unsafe(`
        do $$ begin
          if not exists (select from pg_roles where rolname = 'chaos_app') then
            create role chaos_app login password 'ordinary';
            create role chaos_crowd login password 'ordinary';
          end if;
        end $$`)
      .simple(),
  );
  const report = await setup({ databaseUrl: url, schema: "jobs", runtimeRole: "chaos_app" });
  if (!report.ok) throw new Error(report.message);
  await asAdmin((sql) => sql.unsafe(watchMoves).simple());
  return { runtimeUrl: urlOf(url, "chaos_app"), crowdUrl: urlOf(url, "chaos_crowd"), asAdmin };
}

function urlOf(url: string, role: string): string {
  const own = new URL(url);
  own.username = role;
  own.password = "ordinary";
  return own.href;
}

const places = {
  ready: "r.generation, r.settled_token",
  lease: "r.generation, r.token",
  outcome: "null, r.token",
};

const watchMoves = `
  drop schema if exists chaos cascade;
  create schema chaos;
  create table chaos.move (
    number bigint generated always as identity primary key,
    row bigint not null, place text not null, attempt int not null, generation bigint, token bytea,
    at double precision not null default extract(epoch from clock_timestamp()) * 1000
  );
  ${Object.entries(places)
    .map(
      ([place, columns]) => `
  create function chaos.note_${place}() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
  declare r jobs.${place} := new;
  begin
    insert into chaos.move (row, place, attempt, generation, token) values (r.id, '${place}', r.attempt, ${columns});
    return null;
  end $$;
  create trigger chaos after insert on jobs.${place} for each row execute function chaos.note_${place}();`,
    )
    .join("\n")}`;
