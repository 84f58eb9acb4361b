import { expect, test } from "bun:test";
import { SQL } from "bun";
import pg from "pg";
import { installDatabaseClock } from "../../host-fixtures/index.ts";
import { testDatabase } from "../../tests/support/test-database.ts";
import { migrateJobsTaskQueue } from "./migration/migrate-jobs-task-queue.ts";
import { newTask } from "./testing/given.ts";
import { openTaskWorld } from "./testing/task-world.ts";

const refusal = {
  code: "invalid-options",
  message: expect.stringContaining("got one on another database"),
};

test("a transaction on another database that has the schema too is refused, stays usable, and nothing is recorded there", async () => {
  await using world = await openTaskWorld();
  const other = await testDatabase();
  await migrateJobsTaskQueue({ connectionString: other.url });
  await installDatabaseClock(other.url);
  const provider = world.provider();
  await using sql = new SQL(other.url, { max: 1 });
  await sql.begin(async (transaction) => {
    for (const deduplicationKey of [undefined, "order/1"]) {
      const key = deduplicationKey === undefined ? {} : { deduplicationKey };
      await expect(provider.enqueue(newTask({ transaction, ...key }))).rejects.toMatchObject(refusal);
    }
    expect(await transaction`select 1 as one`).toHaveLength(1);
  });
  expect(await sql`select id::text from tasks.task`).toHaveLength(0);
  expect(await sql`select key from tasks.deduplication_key`).toHaveLength(0);
});

test("a copy of the database is another one as soon as a queue of the same name has been used there", async () => {
  await using world = await openTaskWorld();
  await using copy = await openTaskWorld({ jobs: "separate" }); // from the same template
  expect(await copy.provider().identity?.()).not.toEqual(await world.provider().identity?.());
  await copy.sql.begin(async (transaction) => {
    await expect(world.provider().enqueue(newTask({ transaction }))).rejects.toMatchObject(refusal);
  });
});

test("a transaction on a database without the schema is refused with the same words", async () => {
  await using world = await openTaskWorld();
  const other = await testDatabase();
  const client = new pg.Client({ connectionString: other.url });
  await client.connect();
  try {
    await client.query("begin");
    await expect(world.provider().enqueue(newTask({ transaction: client }))).rejects.toMatchObject(refusal);
  } finally {
    await client.end();
  }
});

test("a snapshot from before the first use of the queue is no other database", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  let jobId = "";
  await world.sql.begin("isolation level serializable", async (transaction) => {
    await transaction`select count(*) from task`;
    jobId = await provider.enqueue(newTask({ transaction }));
  });
  expect(await provider.get(jobId)).toMatchObject({ state: "pending" });
});
