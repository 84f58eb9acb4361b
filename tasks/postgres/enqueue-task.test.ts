import { expect, test } from "bun:test";
import { SQL } from "bun";
import { drizzle as drizzleBun } from "drizzle-orm/bun-sql";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { testDatabase } from "../../tests/support/test-database.ts";
import type { TaskProvider } from "../provider.ts";
import { migratePostgresTaskQueue } from "./index.ts";
import { migratedDatabase, openTestQueue, type TestQueue } from "./testing/open-test-queue.ts";

const { url } = await migratedDatabase();
const request = {
  task: "t",
  input: { text: "it's $1 \\ 'x'" },
  maxAttempts: 1,
  deduplicationKey: "it's \\ $2",
};

async function setup() {
  const queue: TestQueue = await openTestQueue(url);
  const provider: Required<TaskProvider> = queue.provider();
  return {
    queue,
    provider,
    async [Symbol.asyncDispose]() {
      await provider.close();
      await queue.close();
    },
  };
}

/** Calls `work` in a transaction of each kind that is taken; rejecting rolls it back. */
const kinds: readonly [
  string,
  (pool: pg.Pool, work: (transaction: unknown) => Promise<void>) => Promise<void>,
][] = [
  [
    "kysely",
    (pool, work) => new Kysely({ dialect: new PostgresDialect({ pool }) }).transaction().execute(work),
  ],
  ["a pg client", (pool, work) => withClient(pool, work)],
  ["drizzle on node-postgres", (pool, work) => drizzlePg({ client: pool }).transaction(work)],
  [
    "drizzle on Bun.SQL",
    async (_, work) => {
      await using client = new SQL(url, { max: 1 });
      await drizzleBun({ client }).transaction(work);
    },
  ],
];

async function withClient(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
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
}

test.each(kinds)("%s: committed with the caller's rows, gone with them", async (_, inTransaction) => {
  await using given = await setup();
  const { provider, queue } = given;
  let jobId = "";
  const undone = inTransaction(queue.pool, async (transaction) => {
    jobId = await provider.enqueue({ ...request, transaction });
    expect(await provider.enqueue({ ...request, transaction })).toBe(jobId);
    throw new Error("undone");
  });
  expect(await undone.then(String, String)).toBe("Error: undone");
  expect(await provider.get(jobId)).toBeNull();
  await inTransaction(queue.pool, async (transaction) => {
    jobId = await provider.enqueue({ ...request, transaction });
    expect(await provider.get(jobId)).toBeNull();
  });
  expect(await provider.lookupDeduplicationKey(request.deduplicationKey)).toMatchObject({ jobId });
  const seen: unknown[] = [];
  const execute = async ({ input }: { input: unknown }) => {
    seen.push(input);
    return { ok: true, result: null } as const;
  };
  await provider.startWorker(execute, { concurrency: 1, maxJobs: 5 }).done;
  expect(seen).toEqual([request.input]);
});

test("a transaction on another database is refused, with and without the queue there, and nothing is written", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const twin = await migratedDatabase();
  await migratePostgresTaskQueue({ connectionString: twin.url, queueName: queue.queueName });
  const elsewhere = { schema: twin.url, none: (await testDatabase()).url };
  for (const [what, connectionString] of Object.entries(elsewhere)) {
    const pool = new pg.Pool({ connectionString, max: 1 });
    await withClient(pool, async (transaction) => {
      for (const deduplicationKey of [undefined, "k"]) {
        const key = deduplicationKey === undefined ? {} : { deduplicationKey };
        if (what === "none" && deduplicationKey !== undefined) continue; // its transaction has failed by then
        const enqueue = provider.enqueue({ task: "t", input: 1, maxAttempts: 1, transaction, ...key });
        await expect(enqueue).rejects.toMatchObject({
          code: "invalid-options",
          message: expect.stringContaining("got one on another database"),
        });
      }
      if (what === "schema")
        expect((await transaction.query("select id from pgboss.job")).rows).toHaveLength(0); // and it is still usable
    });
    await pool.end();
  }
});

test("a savepoint that is rolled back takes its job and key along, and no more", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  let [outer, inner] = ["", ""];
  await withClient(queue.pool, async (transaction) => {
    outer = await provider.enqueue({ ...request, transaction });
    await transaction.query("savepoint here");
    inner = await provider.enqueue({ ...request, transaction, deduplicationKey: "inner" });
    await transaction.query("rollback to savepoint here");
  });
  expect(await provider.get(outer)).toMatchObject({ state: "pending" });
  expect(await provider.get(inner)).toBeNull();
  expect(await provider.lookupDeduplicationKey("inner")).toBeNull();
});

test("a transaction that has failed before says so: 25P02, and no job on another connection", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const client = await queue.pool.connect();
  await client.query("begin");
  await client.query("select 1 / 0").catch(() => {});
  const refused = await provider
    .enqueue({ ...request, transaction: client })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "provider-unavailable", phase: "enqueue", cause: { code: "25P02" } });
  await client.query("rollback");
  client.release();
  expect((await provider.list({ tasks: ["t"], limit: 10 })).jobs).toEqual([]);
});

test("a conflict leaves the caller's transaction usable", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  await provider.enqueue(request);
  await withClient(queue.pool, async (transaction) => {
    const conflict = await provider
      .enqueue({ ...request, input: 2, transaction })
      .catch((error: unknown) => error);
    expect(conflict).toMatchObject({ code: "deduplication-conflict" });
    await provider.enqueue({ ...request, deduplicationKey: "other", transaction });
  });
  expect(await provider.lookupDeduplicationKey("other")).not.toBeNull();
});

test("a key that another transaction is taking: whoever asks waits, and has it when that one rolls back", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const client = await queue.pool.connect();
  await client.query("begin");
  const first = await provider.enqueue({ ...request, transaction: client });
  let answered = false;
  const second = provider.enqueue(request).finally(() => {
    answered = true;
  });
  await Bun.sleep(100);
  expect(answered).toBe(false);
  await client.query("rollback");
  client.release();
  expect(await second).not.toBe(first);
  expect(await provider.get(await second)).toMatchObject({ state: "pending" });
});

test("duplicates that wait for another transaction's key hold up nobody else", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const client = await queue.pool.connect();
  await client.query("begin");
  const first = await provider.enqueue({ ...request, transaction: client });
  const duplicates = Array.from({ length: 12 }, () => provider.enqueue(request));
  const { deduplicationKey: _, ...unkeyed } = request;
  const other = await provider.enqueue(unkeyed);
  expect(await provider.get(other)).toMatchObject({ state: "pending" });
  await client.query("commit");
  client.release();
  expect(new Set(await Promise.all(duplicates))).toEqual(new Set([first]));
});

test("what cannot be joined is refused with what it is", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const bun = new SQL(url, { max: 1 });
  const kysely = new Kysely({ dialect: new PostgresDialect({ pool: queue.pool }) });
  const idle = await queue.pool.connect();
  await idle.query("select 1");
  const refusal = async (transaction: unknown): Promise<string> => {
    const error = (await provider
      .enqueue({ ...request, transaction })
      .catch((reason: unknown) => reason)) as {
      code: string;
      cause: Error;
    };
    expect(error.code).toBe("invalid-options");
    return error.cause.message;
  };
  expect(await refusal(bun)).toContain("Bun.SQL");
  await bun.begin(async (transaction) => expect(await refusal(transaction)).toContain("Bun.SQL"));
  expect(await refusal(queue.pool)).toContain("a pool");
  expect(await refusal(kysely)).toContain("no transaction");
  expect(await refusal(idle)).toContain("BEGIN");
  expect(await refusal(drizzlePg({ client: queue.pool }))).toContain("no transaction");
  expect(await refusal(drizzleBun({ client: bun }))).toContain("no transaction");
  idle.release();
  await bun.close();
  expect((await provider.list({ tasks: ["t"], limit: 10 })).jobs).toEqual([]);
});

test("kysely's own statements and an enqueue commit together", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const db = new Kysely({ dialect: new PostgresDialect({ pool: queue.pool }) });
  const table = sql.table(`orders_${queue.queueName}`);
  await sql`create table ${table} (id text)`.execute(db);
  await db.transaction().execute(async (transaction) => {
    const jobId = await provider.enqueue({ ...request, transaction });
    await sql`insert into ${table} values (${jobId})`.execute(transaction);
  });
  const { rows } = await sql<{ id: string }>`select id from ${table}`.execute(db);
  expect(await provider.get(rows[0]?.id ?? "")).toMatchObject({ state: "pending" });
});

test("drizzle's own rows, a savepoint and an enqueue commit together", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const orders = pgTable(`orders_${queue.queueName}`, { id: uuid().primaryKey(), note: text() });
  await queue.pool.query(`create table "orders_${queue.queueName}" (id uuid primary key, note text)`);
  const db = drizzlePg({ client: queue.pool });
  const [kept, dropped] = await db.transaction(async (tx) => {
    const id = await provider.enqueue({ ...request, transaction: tx });
    await tx.insert(orders).values({ id, note: "kept" });
    let inner = "";
    const undone = tx.transaction(async (savepoint) => {
      inner = await provider.enqueue({ ...request, deduplicationKey: "inner", transaction: savepoint });
      await savepoint.insert(orders).values({ id: inner, note: "dropped" });
      savepoint.rollback();
    });
    expect(await undone.then(String, (error: Error) => error.name)).toContain("Error");
    return [id, inner];
  });
  expect(await db.select().from(orders)).toEqual([{ id: kept, note: "kept" }]);
  expect(await provider.get(kept ?? "")).toMatchObject({ state: "pending" });
  expect(await provider.get(dropped ?? "")).toBeNull();
  expect(await provider.lookupDeduplicationKey("inner")).toBeNull();
});

test("what drizzle says of a failed statement quotes no input", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const canary = ["CANARY", "input"].join("-");
  const transaction = drizzlePg({ client: queue.pool }).transaction(async (tx) => {
    await tx.execute("select 1 / 0").catch(() => {});
    const refused: unknown = await provider
      .enqueue({ ...request, input: canary, transaction: tx })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "provider-unavailable", cause: { code: "25P02" } });
    expect(Bun.inspect(refused)).not.toContain(canary);
    throw new Error("undone");
  });
  expect(await transaction.then(String, String)).toBe("Error: undone");
});

test("enqueues that share a statement: one that PostgreSQL cannot store fails alone", async () => {
  await using given = await setup();
  const { provider } = given;
  const plain = { task: "t", maxAttempts: 1 };
  const answers = await Promise.allSettled(
    ["a", "b\u0000", "c"].map((input) => provider.enqueue({ ...plain, input })),
  );
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect((await provider.list({ tasks: ["t"], limit: 10 })).jobs).toHaveLength(2);
});
