import { afterAll, beforeAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { drizzle as drizzleBun } from "drizzle-orm/bun-sql";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import { CamelCasePlugin, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { newTask, workAll } from "./testing/given.ts";
import { openTaskWorld, type TaskWorld } from "./testing/task-world.ts";

/** Runs some work in a transaction of one client, with a savepoint round a part of it. */
interface Client {
  readonly name: string;
  transaction(
    url: string,
    work: (tx: unknown, savepoint: (part: (tx: unknown) => Promise<void>) => Promise<void>) => Promise<void>,
  ): Promise<void>;
}

const rolledBack = new Error("rolled back by the test");

const clients: Client[] = [
  {
    name: "Bun.SQL",
    async transaction(url, work) {
      await using sql = new SQL(url, { max: 1 });
      await sql.begin((tx) => work(tx, (part) => tx.savepoint((inner) => part(inner))));
    },
  },
  {
    name: "pg",
    async transaction(url, work) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        await client.query("begin");
        await work(client, async (part) => {
          await client.query("savepoint s");
          await part(client).catch(async (error: unknown) => {
            await client.query("rollback to savepoint s");
            throw error;
          });
        });
        await client.query("commit");
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        await client.end();
      }
    },
  },
  {
    name: "kysely",
    async transaction(url, work) {
      const pool = new pg.Pool({ connectionString: url, max: 1 });
      const db = new Kysely<object>({
        dialect: new PostgresDialect({ pool }),
        plugins: [new CamelCasePlugin()],
      });
      try {
        await db.transaction().execute((trx) =>
          work(trx, async (part) => {
            const { sql } = await import("kysely");
            await sql`savepoint s`.execute(trx);
            await part(trx).catch(async (error: unknown) => {
              await sql`rollback to savepoint s`.execute(trx);
              throw error;
            });
          }),
        );
      } finally {
        await db.destroy();
      }
    },
  },
  {
    name: "drizzle on node-postgres",
    async transaction(url, work) {
      const client = new pg.Pool({ connectionString: url, max: 1 });
      try {
        await drizzlePg({ client }).transaction((tx) =>
          work(tx, (part) => tx.transaction((inner) => part(inner))),
        );
      } finally {
        await client.end();
      }
    },
  },
  {
    name: "drizzle on Bun.SQL",
    async transaction(url, work) {
      await using client = new SQL(url, { max: 1 });
      await drizzleBun({ client }).transaction((tx) =>
        work(tx, (part) => tx.transaction((inner) => part(inner))),
      );
    },
  },
];

async function keysOf(world: TaskWorld): Promise<string[]> {
  return (await world.sql`select key from deduplication_key order by key`).map(
    (row: { key: string }) => row.key,
  );
}

test.each(clients)(
  "$name: a task exists, and runs, when the caller's transaction has committed",
  async (client) => {
    await using world = await openTaskWorld();
    const provider = world.provider();
    let jobId = "";
    await client.transaction(world.url, async (transaction) => {
      jobId = await provider.enqueue(newTask({ transaction, deduplicationKey: "order/1" }));
      expect(await provider.enqueue(newTask({ transaction, deduplicationKey: "order/1" }))).toBe(jobId);
      expect(await provider.get(jobId)).toBeNull();
      await world.sweep();
      expect(await workAll(world.provider())).toEqual([]);
    });
    expect(await provider.get(jobId)).toMatchObject({ state: "pending" });
    expect(await workAll(world.provider())).toEqual([jobId]);
  },
);

test.each(clients)(
  "$name: a rolled-back transaction leaves no task, no job and a free key",
  async (client) => {
    await using world = await openTaskWorld();
    const provider = world.provider();
    const attempt = client.transaction(world.url, async (transaction) => {
      await provider.enqueue(newTask({ transaction, deduplicationKey: "order/1" }));
      throw rolledBack;
    });
    await expect(attempt).rejects.toBe(rolledBack);
    expect(await keysOf(world)).toEqual([]);
    expect(await workAll(world.provider())).toEqual([]);
    const [{ jobs }] = await world.sql`select count(*)::int as jobs from jobs.jobs`;
    expect(jobs).toBe(0);
    await provider.enqueue(newTask({ deduplicationKey: "order/1", input: "another" }));
  },
);

test.each(clients)("$name: a rolled-back savepoint takes its own tasks only", async (client) => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  let outer = "";
  await client.transaction(world.url, async (transaction, savepoint) => {
    outer = await provider.enqueue(newTask({ transaction, deduplicationKey: "outer" }));
    const inner = savepoint(async (tx) => {
      await provider.enqueue(newTask({ transaction: tx, deduplicationKey: "inner" }));
      throw rolledBack;
    });
    await expect(inner).rejects.toBe(rolledBack);
  });
  expect(await keysOf(world)).toEqual(["outer"]);
  expect(await workAll(world.provider())).toEqual([outer]);
});

test.each(clients)(
  "$name: an enqueue in a failed transaction says so and uses no other connection",
  async (client) => {
    await using world = await openTaskWorld();
    const provider = world.provider();
    const attempt = client.transaction(world.url, async (transaction) => {
      const failing = provider.enqueue(
        newTask({ transaction, input: "x", task: "y".repeat(10), maxAttempts: 0 }),
      );
      await expect(failing).rejects.toMatchObject({ code: "23514" });
      await expect(provider.enqueue(newTask({ transaction }))).rejects.toMatchObject({ code: "25P02" });
      throw rolledBack;
    });
    await expect(attempt).rejects.toBe(rolledBack);
    const [{ tasks }] = await world.sql`select count(*)::int as tasks from task`;
    expect(tasks).toBe(0);
  },
);

test("a task of a committed transaction is dispatched by its own process, without a sweep", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  await using sql = new SQL(world.url, { max: 1 });
  const jobId = await sql.begin((transaction) => provider.enqueue(newTask({ transaction })));
  for (const until = performance.now() + 5000; performance.now() < until; await Bun.sleep(5)) {
    if ((await world.row(jobId))["job_id"] !== null) break;
  }
  expect(await world.row(jobId)).toMatchObject({ job_id: expect.stringContaining("job_") });
});

test("two transactions with one key: the second waits and gets the first one's task, or creates its own", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  await using sql = new SQL(world.url, { max: 2 });
  for (const commits of [true, false]) {
    const key = `key/${commits}`;
    const first = await sql.reserve();
    await first.unsafe("begin");
    const tx = Object.assign(first, { savepoint: () => undefined });
    const one = await provider.enqueue(newTask({ transaction: tx, deduplicationKey: key }));
    const second = provider.enqueue(newTask({ deduplicationKey: key }));
    await first.unsafe(commits ? "commit" : "rollback");
    await first.release();
    if (commits) expect(await second).toBe(one);
    else expect(await second).not.toBe(one);
  }
});

let pool: pg.Pool;
let bunPool: SQL;
let idle: pg.Client;
let db: Kysely<object>;
beforeAll(async () => {
  await using world = await openTaskWorld();
  pool = new pg.Pool({ connectionString: world.url });
  bunPool = new SQL(world.url);
  idle = new pg.Client({ connectionString: world.url });
  await idle.connect();
  db = new Kysely<object>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: world.url }) }),
  });
});
afterAll(async () => {
  await Promise.all([pool.end(), bunPool.close(), idle.end(), db.destroy()]);
});

test.each([
  ["a pg.Pool", () => pool],
  ["a Bun.SQL pool", () => bunPool],
  ["a pg client without a transaction", () => idle],
  ["a Kysely without a transaction", () => db],
  ["a drizzle database", () => drizzlePg({ client: pool })],
  ["a text", () => "begin"],
  ["null", () => null],
  ["an object with a query method", () => ({ query: () => undefined })],
])("%s is refused as a transaction, and nothing is recorded", async (_, transaction) => {
  await using world = await openTaskWorld();
  const attempt = world.provider().enqueue(newTask({ transaction: transaction() }));
  await expect(attempt).rejects.toMatchObject({
    code: "invalid-options",
    cause: { message: expect.stringContaining("expected an open transaction") },
  });
  const [{ tasks }] = await world.sql`select count(*)::int as tasks from task`;
  expect(tasks).toBe(0);
});
