import { SQL } from "bun";
import {
  type DatabaseClock,
  databaseClock,
  installDatabaseClock,
} from "../../../host-fixtures/database-clock.ts";
import { setup } from "../../../plugin/operator/setup.ts";
import { afterTestFile } from "../../support/after-test-file.ts";
import { testDatabase } from "../../support/test-database.ts";

/** A database with the schema `jobs` and a clock, and a look into it. */
export interface ContractDatabase {
  readonly url: string;
  readonly clock: DatabaseClock;
  /** Rows of a statement on the tables of `jobs`. */
  query<T = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<T[]>;
  /** Holds what a statement locks or changed, in a transaction, until it is ended. */
  block(text: string): Promise<Blocker>;
  /** Resolves when so many of the plugin's statements wait for a lock. */
  waiting(statements: number): Promise<void>;
  /** Removes every job and moves the clock to the next midnight; never back, since a host is at work on it. Says which. */
  clear(): Promise<string>;
  /** Ends the borrowing: the next host may have it. */
  giveBack(): void;
}

export interface Blocker {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

const free: ContractDatabase[] = [];

/** A database without any job, whose clock stands at that instant. Those that earlier tests gave back are used again. */
export async function borrowDatabase(instant: string): Promise<ContractDatabase> {
  const database = free.pop() ?? (await makeDatabase());
  await database.clear();
  await database.query(`
    truncate jobs, ready, lease, outcome, instance, name restart identity;
    update lenso_test_clock.setting set frozen_at = '${instant}', ahead = '0'`);
  return database;
}

async function makeDatabase(): Promise<ContractDatabase> {
  const { url } = await testDatabase({ template: "contract", prepare });
  const clock = databaseClock(url);
  const sql = new SQL(url, { max: 4, connection: { search_path: "jobs" } });
  afterTestFile(async () => {
    free.length = 0;
    await Promise.all([sql.close(), clock.close()]);
  });
  const blockers = new Set<Blocker>();
  const database: ContractDatabase = {
    url,
    clock,
    async query<T>(text: string, values?: readonly unknown[]) {
      const rows = values ? await sql.unsafe(text, [...values]) : await sql.unsafe(text);
      return [...rows] as T[];
    },
    async block(text) {
      const connection = await sql.reserve();
      await connection.unsafe("begin");
      await connection.unsafe(text);
      let ended = false;
      const end = async (how: "commit" | "rollback") => {
        if (ended) return;
        ended = true;
        await connection.unsafe(how);
        await connection.release();
      };
      const blocker = { commit: () => end("commit"), rollback: () => end("rollback") };
      blockers.add(blocker);
      return blocker;
    },
    async waiting(statements) {
      await until(async () => {
        const [row] = await sql.unsafe(`
          select count(*)::int as waiting from pg_stat_activity
          where datname = current_database() and application_name = 'lenso-jobs' and wait_event_type = 'Lock'`);
        return row.waiting >= statements;
      });
    },
    async clear() {
      for (const blocker of blockers) await blocker.rollback(); // of a test that failed
      blockers.clear();
      await sql.unsafe(`
        truncate jobs, ready, lease, outcome;
        update lenso_test_clock.setting set frozen_at = date_trunc('day', lenso_test_clock.now()) + interval '1 day'`);
      return clock.now();
    },
    giveBack: () => free.push(database),
  };
  return database;
}

async function prepare(url: string): Promise<void> {
  const report = await setup({ databaseUrl: url, schema: "jobs" });
  if (!report.ok) throw new Error(report.message);
  await installDatabaseClock(url);
}

/** Waits for what announces itself by no event, such as a statement that waits for a lock. */
export async function until(condition: () => Promise<boolean>, withinMs = 5000): Promise<void> {
  for (const deadline = performance.now() + withinMs; ; await Bun.sleep(5)) {
    if (await condition()) return;
    if (performance.now() > deadline)
      throw new Error(`the condition did not come true within ${withinMs} ms`);
  }
}
