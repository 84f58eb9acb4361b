import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openCall } from "../../plugin/call.ts";
import { hashLeaseToken } from "../../plugin/lease-token.ts";
import type { PostgresJobStore } from "../../plugin/store/postgres-job-store.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { drivers } from "../postgres/support/jobs-host.ts";
import { openCountedStore } from "./support/counted-store.ts";

// How many statements an operation sends. A round trip more for every call is what nobody notices until the database is far away.

const call = openCall({ requestId: "1", callerInstance: "worker", cancelled: false });

/** Statements without the looks at expired leases, which are due once a second. */
function withoutReaps(sent: readonly string[]): string[] {
  return sent.filter((text) => !/retired|requeued/.test(text));
}

describe.each(drivers)("over the driver %s", (driver) => {
  let store: PostgresJobStore;
  let sent: string[];
  beforeAll(async () => {
    const { url } = await jobsDatabase();
    ({ store, sent } = await openCountedStore(url, driver));
  });
  afterAll(() => store.close(5000));

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
  const proofOf = (job: Awaited<ReturnType<typeof claim>>) => ({
    id: job.id,
    tokenHash: hashLeaseToken(job.token) as string,
    owner: "worker",
  });

  /** How many some work sent, those apart. */
  async function statementsOf(work: () => Promise<unknown>): Promise<number> {
    sent.length = 0;
    await work();
    return withoutReaps(sent).length;
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

  test("the end of the last job goes with the first of two looks at a queue that is empty, and nothing is asked about it again", async () => {
    const lastJob = async (): Promise<string[]> => {
      await enqueue();
      const job = await claim();
      sent.length = 0;
      const answers = await Promise.all([
        store.complete(proofOf(job), call),
        store.claim({ queue: "mail", owner: "worker" }, call),
      ]);
      expect(answers).toEqual([true, undefined]);
      return withoutReaps(sent);
    };
    const isShared = (text = "") => text.includes("hit as (") && text.includes("picked as (");
    let statements = await lastJob();
    for (let tried = 1; tried < 5 && !isShared(statements[0]); tried += 1) statements = await lastJob();
    expect(statements.map(isShared)).toEqual([true, false]);
  });

  test("a thousand concurrent calls are a handful of statements", async () => {
    expect(await statementsOf(() => Promise.all(Array.from({ length: 1000 }, enqueue)))).toBeLessThanOrEqual(
      8,
    );
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
    sent.length = 0;
    await none();
    expect(sent.length).toBeLessThanOrEqual(3);
  });
});
