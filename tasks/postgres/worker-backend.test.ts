import { expect, test } from "bun:test";
import { migratedDatabase, openTestQueue } from "./testing/open-test-queue.ts";
import { createPostgresBackend, type PostgresClaim } from "./worker-backend.ts";

const { url } = await migratedDatabase();
const failed = { ok: false, error: "handler-failed", final: false } as const;

/** A queue, its provider, and a backend that is driven by hand. */
async function setup(heartbeatSeconds = 10) {
  const queue = await openTestQueue(url);
  const provider = queue.provider();
  const connected = await queue.queue();
  const backend = createPostgresBackend(
    {
      ready: () => Promise.resolve(connected),
      listen: () => Promise.reject(new Error("unused")),
      close: async () => {},
    },
    heartbeatSeconds,
  );
  return {
    queue,
    provider,
    backend,
    enqueue: (maxAttempts = 3) => provider.enqueue({ task: "t", input: 1, maxAttempts }),
    async claim(): Promise<PostgresClaim> {
      const [claim] = await backend.fetch(1);
      if (claim === undefined) throw new Error("nothing to claim");
      return claim;
    },
    async [Symbol.asyncDispose]() {
      await provider.close();
      await queue.close();
    },
  };
}

test("a stale attempt can neither pulse nor settle, and is told so; the current one is untouched", async () => {
  await using given = await setup();
  const { backend, queue, provider } = given;
  const jobId = await given.enqueue();
  const stale = await given.claim();
  await queue.expireLeases();
  expect(await backend.pulse(stale)).toBe("lost"); // no longer held by anybody
  const current = await given.claim();
  expect(current).toMatchObject({ jobId, attempt: 2 });
  const row = async (): Promise<unknown> =>
    (await queue.pool.query("select * from pgboss.job where id = $1", [jobId])).rows;
  const before = await row();
  expect(await backend.pulse(stale)).toBe("lost");
  expect(await backend.settle(stale, { ok: true, result: "stale" })).toBe("lost");
  expect(await backend.settle(stale, failed)).toBe("lost");
  expect(await backend.settle(stale, { ...failed, final: true })).toBe("lost");
  await backend.giveBack(stale);
  expect(await row()).toEqual(before);
  expect(await backend.settle(current, { ok: true, result: "current" })).toBe("settled");
  expect(await backend.settle(stale, { ok: true, result: "stale" })).toBe("lost");
  expect(await provider.get(jobId)).toMatchObject({ state: "succeeded", attempt: 2, result: "current" });
});

test("settling again after a lost answer says settled; what the supervisor ended says lost", async () => {
  await using given = await setup();
  const { backend, queue } = given;
  const outcomes = [{ ok: true, result: null }, failed, { ...failed, final: true }] as const;
  for (const outcome of outcomes) {
    await given.enqueue(1);
    const claim = await given.claim();
    expect(await backend.settle(claim, outcome)).toBe("settled");
    expect(await backend.settle(claim, outcome)).toBe("settled");
  }
  await given.enqueue(1);
  const claim = await given.claim();
  await queue.expireLeases();
  expect(await backend.settle(claim, failed)).toBe("lost");
});

test("a settlement that was to be cancelled wins over its outcome, whether or not a pulse had seen the request", async () => {
  await using given = await setup();
  const { backend, provider } = given;
  for (const seen of [false, true]) {
    for (const outcome of [{ ok: true, result: 1 }, failed, { ...failed, final: true }] as const) {
      const jobId = await given.enqueue();
      const claim = await given.claim();
      expect(await provider.cancel(jobId)).toBe("requested");
      if (seen) expect(await backend.pulse(claim)).toBe("cancelled");
      expect(await backend.settle(claim, outcome)).toBe("settled");
      expect(await provider.get(jobId)).toMatchObject({ state: "cancelled", result: null, error: null });
      expect(await provider.retry(jobId)).toBe(false);
      expect(await provider.cancel(jobId)).toBe("terminal");
    }
  }
  expect(await backend.fetch(10)).toEqual([]);
});

test("a claim that is given back is due at once, whatever the task's delay", async () => {
  await using given = await setup();
  const { backend, provider } = given;
  const jobId = await provider.enqueue({
    task: "t",
    input: 1,
    maxAttempts: 3,
    retry: { delaySeconds: 600, backoff: false },
  });
  await backend.giveBack(await given.claim());
  expect(await provider.get(jobId)).toMatchObject({ state: "pending" });
  expect(await given.claim()).toMatchObject({ jobId, attempt: 1, maxAttempts: 3 });
});

test("a claim that was given back shares its attempt's number with the next one, and no fence", async () => {
  await using given = await setup();
  const { backend, provider } = given;
  const jobId = await given.enqueue(3);
  const old = await given.claim();
  await backend.giveBack(old);
  const current = await given.claim();
  expect(current.attempt).toBe(old.attempt);
  expect(await backend.pulse(old)).toBe("lost");
  expect(await backend.settle(old, failed)).toBe("lost");
  await backend.giveBack(old);
  expect(await backend.pulse(current)).toBe("held");
  expect(await provider.get(jobId)).toMatchObject({ state: "running", attempt: 1, maxAttempts: 3 });
});

test("a last attempt that is given back is not lost", async () => {
  await using given = await setup();
  const { backend, provider } = given;
  const jobId = await given.enqueue(1);
  await backend.giveBack(await given.claim());
  expect(await provider.get(jobId)).toMatchObject({ state: "pending" });
  expect(await backend.settle(await given.claim(), failed)).toBe("settled");
  expect(await provider.get(jobId)).toMatchObject({ state: "failed" });
});

test("a job that was to be cancelled and comes round again is not handed out", async () => {
  await using given = await setup();
  const { backend, queue, provider } = given;
  const jobId = await given.enqueue();
  const lost = await given.claim();
  await provider.cancel(jobId);
  // pg-boss puts it back in line; nobody has carried the request out yet.
  await (await queue.queue()).boss.fail(queue.queueName, { id: jobId, retryCount: lost.retryCount });
  expect(await provider.get(jobId)).toMatchObject({ state: "running", cancelRequested: true });
  expect(await provider.cancel(jobId)).toBe("cancelled");
  expect(await backend.fetch(10)).toEqual([]);
  const other = await given.enqueue();
  const again = await given.claim();
  await provider.cancel(other);
  await (await queue.queue()).boss.fail(queue.queueName, { id: other, retryCount: again.retryCount });
  expect(await backend.fetch(10)).toEqual([]);
  expect(await provider.get(other)).toMatchObject({ state: "cancelled" });
});

test("jobs that were to be cancelled do not hide that others are due", async () => {
  await using given = await setup();
  const { backend, queue, provider } = given;
  const flagged = await given.enqueue();
  const lost = await given.claim();
  await provider.cancel(flagged);
  await (await queue.queue()).boss.fail(queue.queueName, { id: flagged, retryCount: lost.retryCount });
  const due = await given.enqueue();
  expect(await backend.fetch(1)).toMatchObject([{ jobId: due }]);
  expect(await provider.get(flagged)).toMatchObject({ state: "cancelled" });
});

test("a claim knows when it ends whatever pulses say", async () => {
  const queue = await openTestQueue(url);
  await using given = await setup();
  const short = queue.provider({ queueName: given.queue.queueName, expireInSeconds: 7 });
  await short.enqueue({ task: "t", input: 1, maxAttempts: 3 });
  const { sentAt, endsAt } = await given.claim();
  expect(endsAt).toBe(sentAt + 7000);
  await short.close();
  await queue.close();
});

test("a job that was deleted while it ran: its settlement is lost, its neighbours' are not", async () => {
  await using given = await setup();
  const { backend, queue, provider } = given;
  const ids = [await given.enqueue(), await given.enqueue(), await given.enqueue()];
  const claims = await backend.fetch(3);
  await queue.pool.query("delete from pgboss.job where id = $1", [claims[1]?.jobId]);
  const verdicts = await Promise.all(
    claims.map((claim) => backend.settle(claim, { ok: true, result: null })),
  );
  expect(verdicts).toEqual(["settled", "lost", "settled"]);
  const states = await Promise.all(ids.map(async (id) => (await provider.get(id))?.state));
  expect(states.filter((state) => state === "succeeded")).toHaveLength(2);
});

test("pulses that meet share a statement, and each gets its own answer", async () => {
  await using given = await setup();
  const { backend, queue, provider } = given;
  for (let n = 0; n < 3; n++) await given.enqueue();
  const claims = await backend.fetch(3);
  await queue.pool.query("delete from pgboss.job where id = $1", [claims[0]?.jobId]);
  await provider.cancel(claims[1]?.jobId ?? "");
  expect(await Promise.all(claims.map((claim) => backend.pulse(claim)))).toEqual([
    "lost",
    "cancelled",
    "held",
  ]);
});

test("a pulse prolongs the claim", async () => {
  await using given = await setup();
  const { backend, queue, provider } = given;
  const jobId = await given.enqueue();
  const claim = await given.claim();
  const age = "update pgboss.job set heartbeat_on = heartbeat_on - interval '9 seconds' where id = $1";
  await queue.pool.query(age, [jobId]);
  expect(await backend.pulse(claim)).toBe("held");
  await queue.pool.query(age, [jobId]);
  await queue.supervise();
  expect(await provider.get(jobId)).toMatchObject({ state: "running" });
});

test("an attempt that runs too long is lost although it pulses", async () => {
  await using given = await setup();
  const { backend, queue, provider } = given;
  const jobId = await given.enqueue();
  const claim = await given.claim();
  await queue.pool.query(
    "update pgboss.job set started_on = started_on - interval '16 minutes' where id = $1",
    [jobId],
  );
  expect(await backend.pulse(claim)).toBe("held");
  await queue.supervise();
  expect(await backend.pulse(claim)).toBe("lost");
  expect(await provider.get(jobId)).toMatchObject({ state: "pending", attempt: 1, error: "aborted" });
});

test("a job enqueued with a shorter heartbeat than the worker's is held for as long as the worker believes", async () => {
  await using given = await setup(60);
  const { queue, provider, backend } = given;
  const jobId = await given.enqueue();
  await given.claim();
  await queue.pool.query(
    "update pgboss.job set heartbeat_on = heartbeat_on - interval '50 seconds' where id = $1",
    [jobId],
  );
  await queue.supervise();
  expect(await provider.get(jobId)).toMatchObject({ state: "running" });
  expect(backend.leaseMs).toBe(60_000);
});

test("cancelling while pg-boss moves the row never calls the job missing", async () => {
  await using given = await setup();
  const { backend, provider } = given;
  for (let round = 0; round < 10; round++) {
    const jobId = await given.enqueue(5);
    const claim = await given.claim();
    const [verdict, ...answers] = await Promise.all([
      backend.settle(claim, failed),
      ...Array.from({ length: 4 }, () => provider.cancel(jobId)),
    ]);
    expect(verdict).toBe("settled");
    expect(answers).not.toContain("missing");
    expect(await provider.get(jobId)).toMatchObject({ state: "cancelled" });
  }
});

test("a wake-up between a fetch and the wait after it is not lost", async () => {
  await using given = await setup();
  const { backend } = given;
  expect(await backend.fetch(1)).toEqual([]);
  backend.wake();
  const began = performance.now();
  await backend.wait(5_000, new AbortController().signal);
  expect(performance.now() - began).toBeLessThan(1_000);
  await backend.fetch(1);
  const stopping = new AbortController();
  const waiting = backend.wait(5_000, stopping.signal);
  stopping.abort();
  await waiting;
  expect(performance.now() - began).toBeLessThan(4_000);
});
