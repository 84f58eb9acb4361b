import { randomBytes } from "node:crypto";
import pg from "pg";
import { type TestDatabase, testDatabase } from "../../../tests/support/test-database.ts";
import type { ProviderUnderTest } from "../../conformance/index.ts";
import { asBossDb, openBoss } from "../boss.ts";
import { openDatabase } from "../database.ts";
import { createPostgresTaskProvider, migratePostgresTaskQueue } from "../index.ts";
import {
  checkProviderOptions,
  type PostgresTaskProviderOptions,
  type PostgresTaskProviderSettings,
} from "../options.ts";
import { connectQueue, ensureQueue, type Queue } from "../queue.ts";
import { qualified } from "../schema.ts";
import { superviseOnce } from "../supervise.ts";

/** A database with the task tables, copied from one that was migrated once. */
export function migratedDatabase(): Promise<TestDatabase> {
  return testDatabase({
    template: "tasks_postgres",
    prepare: (url) => migratePostgresTaskQueue({ connectionString: url }),
  });
}

export interface TestQueue extends ProviderUnderTest {
  readonly url: string;
  readonly queueName: string;
  readonly pool: pg.Pool;
  /** A connection of the tests' own, as the provider has it. */
  queue(): Promise<Queue>;
  provider(options?: Partial<PostgresTaskProviderOptions>): ReturnType<typeof createPostgresTaskProvider>;
  /** One look of a supervisor, whenever the last one was. */
  supervise(): Promise<void>;
}

/** A fresh queue in a migrated database. Its supervisors look every second; its shortest lease is pg-boss's, 10 seconds. */
export async function openTestQueue(url: string, heartbeatSeconds = 10): Promise<TestQueue> {
  const queueName = `q-${randomBytes(6).toString("hex")}`;
  const settings = { queueName, heartbeatSeconds, superviseIntervalSeconds: 1, pollIntervalMs: 200 };
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  const checked = checkProviderOptions({ ...settings, pool });
  await makeQueue(checked);
  const connection = connectQueue(checked);
  const supervise = async (): Promise<void> => {
    const queue = await connection.ready();
    await pool.query(
      "update pgboss.queue set monitor_claim_on = null, monitor_on = null, maintain_on = null where name = $1",
      [queueName],
    );
    await superviseOnce(queue);
  };
  return {
    url,
    queueName,
    pool,
    queue: () => connection.ready(),
    provider: (options = {}) =>
      createPostgresTaskProvider({
        ...settings,
        ...(options.pool === undefined ? { connectionString: url } : {}),
        ...options,
      }),
    supervise,
    async expireLeases() {
      const { rows: held } = await pool.query<{ claim: string }>(
        "select id || '/' || retry_count as claim from pgboss.job where name = $1 and state = 'active'",
        [queueName],
      );
      const claims = held.map(({ claim }) => claim);
      const ofClaims = "name = $1 and state = 'active' and id || '/' || retry_count = any($2::text[])";
      // A heartbeat that was on its way may save a claim from the look that was to take it.
      for (let left = claims.length; left > 0; ) {
        await pool.query(
          `update pgboss.job set heartbeat_on = heartbeat_on - interval '1 hour' where ${ofClaims}`,
          [queueName, claims],
        );
        await supervise();
        left =
          (await pool.query(`select from pgboss.job where ${ofClaims}`, [queueName, claims])).rowCount ?? 0;
      }
    },
    async prune() {
      await pool.query(
        "update pgboss.job set completed_on = completed_on - interval '1 year' where name = $1 and completed_on is not null",
        [queueName],
      );
      await supervise();
    },
    async inTransaction(work) {
      const client = await pool.connect();
      try {
        await client.query("begin");
        await work(client);
        await client.query("commit");
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
    async close() {
      await connection.close();
      await pool.end();
    },
  };
}

/** The last step of the migration alone: the schema of the template has all the others. */
async function makeQueue(settings: PostgresTaskProviderSettings): Promise<void> {
  const db = openDatabase({ pool: settings.pool });
  const boss = openBoss({
    ...settings,
    db: asBossDb(db),
    migrate: false,
    createSchema: false,
    onError: (error) => {
      throw error;
    },
  });
  try {
    await boss.start();
    const table = qualified(settings.schema, "lenso_task_queue");
    await ensureQueue(boss, db, table, settings.queueName, settings);
  } finally {
    await boss.stop({ graceful: false, close: false });
    await db.close();
  }
}
