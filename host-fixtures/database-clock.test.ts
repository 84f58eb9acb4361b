import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { untilLocksWaitedFor } from "../tests/postgres/support/observe.ts";
import { testDatabase } from "../tests/support/test-database.ts";
import { testServer } from "../tests/support/test-server.ts";
import { databaseClock, databaseClockExpression, installDatabaseClock } from "./database-clock.ts";

await testServer(); // may have to start one, which takes longer than a test may

const template = { template: "database_clock", prepare: installDatabaseClock };
const closing: { close(): Promise<void> }[] = [];
afterAll(async () => {
  await Promise.all(closing.map((each) => each.close()));
});

async function setup() {
  const { url } = await testDatabase(template);
  const clock = databaseClock(url);
  const sql = new SQL(url, { max: 2 });
  closing.push(clock, sql);
  return { url, clock, sql };
}

/** Whole and fractional seconds by which the test clock is ahead of the server's. */
async function secondsAhead(sql: SQL): Promise<number> {
  const [row] = await sql.unsafe(
    `select extract(epoch from ${databaseClockExpression} - clock_timestamp())::float8 as ahead`,
  );
  return row.ahead;
}

test("an installed clock runs with the server's until it is advanced, and installing again changes nothing", async () => {
  const { url, clock, sql } = await setup();
  expect(Math.abs(await secondsAhead(sql))).toBeLessThan(1);
  await clock.advance(3_600_000);
  await installDatabaseClock(url);
  expect(Math.abs((await secondsAhead(sql)) - 3600)).toBeLessThan(1);
});

test("a frozen clock moves only by what it is advanced, to the microsecond, and runs on from there", async () => {
  const { clock, sql } = await setup();
  await clock.advance(60_000);
  await clock.freeze();
  const frozen = await clock.now();
  expect(frozen).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(await clock.now()).toBe(frozen);
  await clock.advance(1000.001);
  const [row] = await sql`select (${await clock.now()}::timestamptz - ${frozen}::timestamptz)::text as moved`;
  expect(row.moved).toBe("00:00:01.000001");
  await clock.thaw();
  expect(Math.abs((await secondsAhead(sql)) - 61)).toBeLessThan(1);
});

test("a statement that waits for a row sees an advance that was committed meanwhile", async () => {
  const { url, clock, sql } = await setup();
  // Inside the blocker's transaction the activity view would not change between two looks.
  const look = new SQL(url, { max: 1 });
  closing.push(look);
  await clock.freeze();
  await sql`create table contested (id int primary key)`;
  await sql`insert into contested values (1)`;
  const before = await clock.now();
  const blocker = await sql.reserve();
  await blocker`begin`;
  await blocker`select from contested where id = 1 for update`;

  const waiting = sql.unsafe(
    `with locked as materialized (select id from contested where id = 1 for update)
     select ${databaseClockExpression} > '${before}'::timestamptz as moved from locked`,
  );
  const answer = waiting.execute();
  await untilLocksWaitedFor(look);
  await clock.advance(1000);
  await blocker`commit`;
  await blocker.release();

  expect(await answer).toEqual([{ moved: true }]);
});

test("a role without any grant of its own may read the clock and may not move it", async () => {
  const { sql } = await setup();
  const role = `clock_reader_${Date.now()}`;
  await sql.unsafe(`create role ${role}`).simple();
  const reader = await sql.reserve();
  try {
    await reader.unsafe(`set role ${role}`);
    expect(await reader`select lenso_test_clock.now() is not null as read`).toEqual([{ read: true }]);
    expect(reader`update lenso_test_clock.setting set ahead = '1 day'`).rejects.toThrow("permission denied");
  } finally {
    await reader`reset role`;
    await reader.release();
    await sql.unsafe(`drop role ${role}`).simple();
  }
});
