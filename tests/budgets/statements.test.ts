import { afterEach, expect, test } from "bun:test";
import { openCall } from "../../plugin/call.ts";
import { Database } from "../../plugin/store/database.ts";
import { PostgresJobStore } from "../../plugin/store/postgres-job-store.ts";
import { databaseClock } from "../../plugin/store/sql-context.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { afterTestFile } from "../support/after-test-file.ts";

// How many statements an operation sends. A round trip more for every call is what nobody notices until the database is far away.

const { url } = await jobsDatabase();
const database = await Database.open({
  driver: "bun",
  transactionPooler: false,
  resolveUrl: () => Promise.resolve(url),
});
let sent: string[] = [];
/** The very database, counting. */
const counting = new Proxy(database, {
  get(target, name) {
    const value: unknown = Reflect.get(target, name, target);
    if (typeof value !== "function") return value;
    return (...values: unknown[]) => {
      if (name === "query") sent.push(String(values[1]));
      return (value as (...given: unknown[]) => unknown).apply(target, values);
    };
  },
});
const store = new PostgresJobStore(counting, {
  instanceKey: "jobs",
  schema: "jobs",
  clock: databaseClock,
  leaseSeconds: 30,
  retryBaseSeconds: 1,
  retryMaxSeconds: 1,
  maintenanceIntervalMs: 3_600_000,
  pollIntervalMs: 1000,
  listen: false,
  onDeaf: () => undefined,
  names: ["mail", "other", "producer", "worker"],
});
await store.register();
afterTestFile(() => store.close(5000));
afterEach(() => {
  sent = [];
});

const call = openCall({ requestId: "1", callerInstance: "worker", cancelled: false });
let keys = 0;
const enqueue = () => {
  keys += 1;
  return store.enqueue(
    {
      producer: "producer",
      queue: "mail",
      kind: "send",
      key: `key-${keys}`,
      payload: "{}",
      intent: "ab".repeat(32),
      requestedAt: "2020-01-01T00:00:00.000000Z",
      maxAttempts: 3,
    },
    call,
  );
};
const claim = async () => {
  const job = await store.claim({ queue: "mail", owner: "worker" }, call);
  if (job === undefined) throw new Error("nothing to claim");
  return job;
};
const { hashLeaseToken } = await import("../../plugin/lease-token.ts");
const proofOf = (job: Awaited<ReturnType<typeof claim>>) => ({
  id: job.id,
  tokenHash: hashLeaseToken(job.token) as string,
  owner: "worker",
});

/** The statements that some work sent, without the look at expired leases that is due once a second. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  sent = [];
  await work();
  return sent.filter((text) => !/retired|requeued/.test(text)).length;
}

/** The same, done three times: now and then a claim looks at the whole queue, and what would have come along goes alone. */
async function leastStatementsOf(work: () => Promise<unknown>): Promise<number> {
  const counts: number[] = [];
  for (let time = 0; time < 3; time += 1) counts.push(await statementsOf(work));
  return Math.min(...counts);
}

test("each operation is one statement", async () => {
  await enqueue();
  await enqueue();
  await claim(); // the first claim of a process looks at the whole queue
  expect(await statementsOf(enqueue)).toBe(1);
  let job!: Awaited<ReturnType<typeof claim>>;
  expect(
    await statementsOf(async () => {
      job = await claim();
    }),
  ).toBe(1);
  expect(await statementsOf(() => store.renew(proofOf(job), call))).toBe(1);
  expect(await statementsOf(() => store.inspect(job.id, call))).toBe(1);
  expect(await statementsOf(() => store.complete(proofOf(job), call))).toBe(1);
  const failed = await claim();
  expect(
    await statementsOf(() => store.fail(proofOf(failed), { code: "smtp", retryable: false }, call)),
  ).toBe(1);
});

test("the end of a job and the claim of the next, called together, are one statement", async () => {
  await Promise.all(Array.from({ length: 7 }, enqueue));
  let job = await claim();
  const endAndNext = async (inOrder: boolean) => {
    const calls = [() => store.complete(proofOf(job), call), claim] as const;
    const [ended, next] = inOrder
      ? await Promise.all([calls[0](), calls[1]()])
      : (await Promise.all([calls[1](), calls[0]()])).toReversed();
    expect(ended).toBe(true);
    job = next as typeof job;
  };
  expect(await leastStatementsOf(() => endAndNext(true))).toBe(1);
  expect(await leastStatementsOf(() => endAndNext(false))).toBe(1);
  expect(await statementsOf(() => store.complete(proofOf(job), call))).toBe(1);
});

test("so they are for five hundred workers: a statement for each batch", async () => {
  await Promise.all(Array.from({ length: 2000 }, enqueue));
  let claimed = await Promise.all(Array.from({ length: 500 }, claim));
  const endAndNext = async () => {
    const pairs = claimed.map((job) => Promise.all([store.complete(proofOf(job), call), claim()]));
    claimed = (await Promise.all(pairs)).map(([, job]) => job);
  };
  expect(await leastStatementsOf(endAndNext)).toBeLessThanOrEqual(3);
  await Promise.all(claimed.map((job) => store.complete(proofOf(job), call)));
});

test("a thousand concurrent calls are a handful of statements", async () => {
  expect(await statementsOf(() => Promise.all(Array.from({ length: 1000 }, enqueue)))).toBeLessThanOrEqual(8);
  let claimed: Awaited<ReturnType<typeof claim>>[] = [];
  expect(
    await statementsOf(async () => {
      claimed = await Promise.all(Array.from({ length: 1000 }, claim));
    }),
  ).toBeLessThanOrEqual(10);
  expect(
    await statementsOf(() => Promise.all(claimed.map((job) => store.complete(proofOf(job), call)))),
  ).toBeLessThanOrEqual(8);
});

test("a key that is taken costs one more, whatever their number", async () => {
  await enqueue();
  keys -= 1;
  expect(await statementsOf(enqueue)).toBe(2);
});

test("an empty queue costs a claim and no more than a look at the whole queue and at expired leases", async () => {
  const none = () => store.claim({ queue: "other", owner: "worker" }, call);
  await none();
  sent = [];
  await none();
  expect(sent.length).toBeLessThanOrEqual(3);
});
