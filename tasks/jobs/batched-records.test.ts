import { expect, test } from "bun:test";
import { databaseClockExpression } from "../../host-fixtures/index.ts";
import { newRecordId } from "./new-record-id.ts";
import { batchRecords } from "./records/batched-records.ts";
import type { NewTask } from "./records/insert-tasks.ts";
import { RecordDatabase } from "./records/record-database.ts";
import type { RecordSession } from "./records/record-session.ts";
import type { Fence } from "./records/record-state.ts";
import { failed, newTask, succeeded } from "./testing/given.ts";
import { openTaskWorld, queueName } from "./testing/task-world.ts";

/** The batched calls on a world's records, and how many statements they took. */
async function setup() {
  const world = await openTaskWorld();
  const database = new RecordDatabase({ connectionString: world.url });
  const statements: string[] = [];
  const session: RecordSession = {
    queue: queueName,
    clock: databaseClockExpression,
    table: (name) => `tasks.${name}`,
    query(text, values) {
      statements.push(text);
      return database.query(text, values);
    },
  };
  return {
    world,
    statements,
    batched: batchRecords(session),
    async [Symbol.asyncDispose]() {
      await database.close();
      await world[Symbol.asyncDispose]();
    },
  };
}

type Given = Awaited<ReturnType<typeof setup>>;

const record = (changes: Partial<NewTask> = {}): NewTask => ({
  ...newTask(),
  id: newRecordId(),
  intent: "0".repeat(64),
  leftToTheSweep: false,
  ...changes,
});
const fenceOf = (id: string, changes: Partial<Fence> = {}): Fence => ({
  id,
  dispatch: 1,
  jobId: `job_${id}`,
  delivery: 1,
  ...changes,
});
const start = ({ batched }: Given, fence: Fence) =>
  batched.start({ fence, sentAt: performance.now(), leaseSeconds: 30 });

async function recorded(given: Given, count: number): Promise<string[]> {
  const tasks = await Promise.all(Array.from({ length: count }, () => given.batched.insert(record())));
  return tasks.map(({ id }) => id);
}

test("fifty tasks are recorded, marked, started and settled in a few statements", async () => {
  await using given = await setup();
  const ids = await recorded(given, 50);
  expect(new Set(ids).size).toBe(50);
  await Promise.all(
    ids.map((id) => given.batched.mark({ id, dispatch: 1, jobId: `job_${id}`, leaseSeconds: 30 })),
  );
  const started = await Promise.all(ids.map((id) => start(given, fenceOf(id))));
  expect(started.map((attempt) => [attempt?.state, attempt?.attempt])).toEqual(ids.map(() => ["running", 1]));
  const settled = await Promise.all(
    ids.map((id, n) => given.batched.settle({ fence: fenceOf(id), outcome: n % 2 ? failed : succeeded })),
  );
  expect(settled.map((each) => [each?.id, each?.state, each?.dispatch])).toEqual(
    ids.map((id, n) => (n % 2 ? [id, "pending", 2] : [id, "succeeded", 1])),
  );
  expect(given.statements).toHaveLength(4);
});

test("the fence holds for each row of a statement: the stale ones change nothing", async () => {
  await using given = await setup();
  const [good = "", otherJob = "", otherDispatch = "", notStarted = "", again = ""] = await recorded(
    given,
    5,
  );
  await Promise.all([good, otherJob, otherDispatch, again].map((id) => start(given, fenceOf(id))));
  given.statements.length = 0;
  const [one, ...none] = await Promise.all([
    given.batched.settle({ fence: fenceOf(good), outcome: succeeded }),
    given.batched.settle({ fence: fenceOf(otherJob, { jobId: "job_other" }), outcome: succeeded }),
    given.batched.settle({ fence: fenceOf(otherDispatch, { dispatch: 2 }), outcome: succeeded }),
    given.batched.settle({ fence: fenceOf(notStarted), outcome: succeeded }),
    given.batched.settle({ fence: fenceOf(again, { delivery: 2 }), outcome: succeeded }),
  ]);
  expect(given.statements).toHaveLength(1);
  expect(one).toMatchObject({ id: good, state: "succeeded" });
  expect(none).toEqual([undefined, undefined, undefined, undefined]);
  const states = await given.world.sql`select state from task where id <> ${good} order by state`;
  expect(states.map(({ state }: { state: string }) => state)).toEqual([
    "pending",
    "running",
    "running",
    "running",
  ]);
});

test("two deliveries of one record that come together start one after the other", async () => {
  await using given = await setup();
  const [id = "", other = ""] = await recorded(given, 2);
  const [first, , second, stale] = await Promise.all([
    start(given, fenceOf(id)),
    start(given, fenceOf(other)),
    start(given, fenceOf(id, { delivery: 2 })),
    start(given, fenceOf(id, { delivery: 2 })),
  ]);
  expect([first?.attempt, second?.attempt, stale]).toEqual([1, 2, undefined]);
  expect(await given.world.row(id)).toMatchObject({ delivery: 2, attempt: 2, state: "running" });
});

test("what the database refuses fails alone, and the others of its statement are recorded", async () => {
  await using given = await setup();
  const answers = await Promise.allSettled(
    [record(), record({ maxAttempts: 0 }), record()].map((task) => given.batched.insert(task)),
  );
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(answers[1]).toMatchObject({ reason: { code: "23514" } });
  const [{ tasks }] = await given.world.sql`select count(*)::int as tasks from task`;
  expect(tasks).toBe(2);
});

test("the lease of a start that had to wait for its turn is reckoned from when its claim was sent", async () => {
  await using given = await setup();
  const [id = ""] = await recorded(given, 1);
  const [{ before }] = await given.world.sql`select lenso_test_clock.now()::text as before`;
  const sentAt = performance.now() - 20_000;
  await given.batched.start({ fence: fenceOf(id), sentAt, leaseSeconds: 30 });
  const [{ left }] = await given.world
    .sql`select extract(epoch from lease_until - ${before}::timestamptz)::float8 as left from task`;
  expect(left).toBeGreaterThan(5);
  expect(left).toBeLessThanOrEqual(15);
});
