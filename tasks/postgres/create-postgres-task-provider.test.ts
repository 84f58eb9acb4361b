import { expect, test } from "bun:test";
import { join } from "node:path";
import { startProxy } from "../../tests/faults/support/proxy.ts";
import type { ClaimedTask, TaskProvider } from "../provider.ts";
import { migratedDatabase, openTestQueue } from "./testing/open-test-queue.ts";

const { url } = await migratedDatabase();
const request = { task: "t", input: null, maxAttempts: 3 };

/** A worker that notes what it runs. */
function startWorker(provider: TaskProvider): { next(): Promise<ClaimedTask>; stop(): Promise<void> } {
  const arrived: ClaimedTask[] = [];
  const waiting: ((claimed: ClaimedTask) => void)[] = [];
  const worker = provider.startWorker(
    async (claimed) => {
      const waiter = waiting.shift();
      if (waiter) waiter(claimed);
      else arrived.push(claimed);
      return { ok: true, result: null };
    },
    { concurrency: 4 },
  );
  return {
    next: () => {
      const claimed = arrived.shift();
      return claimed ? Promise.resolve(claimed) : new Promise((resolve) => waiting.push(resolve));
    },
    stop: () => worker.stop(),
  };
}

async function setup(options: Parameters<Awaited<ReturnType<typeof openTestQueue>>["provider"]>[0] = {}) {
  const queue = await openTestQueue(url);
  const errors: unknown[] = [];
  const provider = queue.provider({ onError: (error) => errors.push(error), ...options });
  return {
    queue,
    errors,
    provider,
    async [Symbol.asyncDispose]() {
      await provider.close();
      await queue.close();
    },
  };
}

/** Backends that listen, told by the question with which a listener proves itself. */
const listeners =
  "from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database() and query like 'select 1 from pg_listening%'";

test("an idle worker is woken: it does not wait for its polling interval", async () => {
  await using given = await setup({ pollIntervalMs: 60_000 });
  const { provider, queue } = given;
  const worker = startWorker(provider);
  await heard(queue);
  for (let n = 0; n < 5; n++) {
    const began = performance.now();
    const jobId = await provider.enqueue(request);
    expect((await worker.next()).jobId).toBe(jobId);
    expect(performance.now() - began).toBeLessThan(5_000);
  }
});

test("a listener whose connection is killed is replaced, and what came meanwhile is found", async () => {
  await using given = await setup({ pollIntervalMs: 60_000 });
  const { provider, queue, errors } = given;
  const worker = startWorker(provider);
  await heard(queue);
  await queue.pool.query(`select pg_terminate_backend(pid) ${listeners}`);
  const jobId = await provider.enqueue(request);
  expect((await worker.next()).jobId).toBe(jobId);
  await heard(queue);
  const next = await provider.enqueue(request);
  expect((await worker.next()).jobId).toBe(next);
  expect(errors).toHaveLength(1);
});

test("every connection is cut again and again: the worker goes on, and no job is lost", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const worker = startWorker(provider);
  const producer = queue.provider();
  const ids = new Set<string>();
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 5; n++) ids.add(await producer.enqueue(request).catch(() => ""));
    await queue.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
  }
  ids.delete("");
  for (const jobId of ids) {
    for (const deadline = Date.now() + 15_000; ; await Bun.sleep(50)) {
      await queue.expireLeases().catch(() => {}); // an answer that was lost leaves a claim behind
      const state = await provider.get(jobId).then(
        (status) => status?.state,
        () => "unknown",
      );
      if (state === "succeeded") break;
      if (Date.now() > deadline) throw new Error(`${jobId} is ${String(state)}`);
    }
  }
  await worker.stop();
  await producer.close();
}, 60_000);

test("a borrowed pool is never closed, and a listener of it does not take one of its connections", async () => {
  const queue = await openTestQueue(url);
  const provider = queue.provider({ pool: queue.pool });
  const worker = startWorker(provider);
  await provider.enqueue(request);
  await worker.next();
  await provider.close();
  expect((await queue.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  expect(queue.pool.listenerCount("error")).toBe(1); // the tests' own connection to the queue
  await queue.close();
});

test("a worker can be started before the database can be reached", async () => {
  const queue = await openTestQueue(url);
  const unreachable = new URL(url);
  unreachable.port = "1";
  const errors: unknown[] = [];
  const provider = queue.provider({
    connectionString: unreachable.href,
    onError: (error) => errors.push(error),
  });
  const worker = startWorker(provider);
  expect(await provider.enqueue(request).catch((error: unknown) => error)).toMatchObject({
    code: "provider-unavailable",
    phase: "enqueue",
  });
  await worker.stop();
  await provider.close();
  expect(errors.length).toBeGreaterThan(0);
  expect(JSON.stringify(errors.map(String))).not.toContain(unreachable.password);
  await queue.close();
});

test("stopping at once, twice and during the start is safe", async () => {
  await using given = await setup();
  const { provider } = given;
  const worker = provider.startWorker(async () => ({ ok: true, result: null }), { concurrency: 1 });
  await Promise.all([worker.stop(), worker.stop(), worker.done]);
  provider.startWorker(async () => ({ ok: true, result: null }), { concurrency: 1 });
  await Promise.all([provider.close(), provider.close()]);
});

test("after close a process ends by itself", async () => {
  const queue = await openTestQueue(url);
  const script = join(import.meta.dir, "testing/exits-by-itself.ts");
  const child = Bun.spawn([process.execPath, script, url, queue.queueName], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const printed = await new Response(child.stdout).text();
  const closedAt = performance.now();
  expect(await child.exited).toBe(0);
  expect(printed).toContain("closed");
  expect(performance.now() - closedAt).toBeLessThan(2_000);
  await queue.close();
});

test("finished jobs are pruned after their retention; a job that waits is not", async () => {
  await using given = await setup({ retentionSeconds: 1 });
  const { provider, queue } = given;
  const done = await provider.enqueue(request);
  await provider.startWorker(async () => ({ ok: true, result: null }), { concurrency: 1, maxJobs: 1 }).done;
  const waiting = await provider.enqueue({ ...request, runAt: new Date("2000-01-01") });
  await queue.pool.query(
    "update pgboss.job set created_on = created_on - interval '10 years', completed_on = completed_on - interval '2 seconds' where name = $1",
    [queue.queueName],
  );
  await queue.supervise();
  expect(await provider.get(done)).toBeNull();
  expect(await provider.get(waiting)).toMatchObject({ state: "pending" });
});

test("what others put into pg-boss's queue is no task", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const id = await (await queue.queue()).boss.send(queue.queueName, { anything: 1 });
  expect(await provider.get(id ?? "")).toBeNull();
  expect((await provider.list({ tasks: ["t"], limit: 10 })).jobs).toEqual([]);
});

test("a job with one of our task's names and odd numbers is told with plain ones, and spoils no page", async () => {
  await using given = await setup();
  const { provider, queue } = given;
  const odd = { task: "t", maxAttempts: "many", returned: -1 };
  const id = (await (await queue.queue()).boss.send(queue.queueName, odd)) ?? "";
  const ours = await provider.enqueue(request);
  const { jobs } = await provider.list({ tasks: ["t"], limit: 10 });
  expect(jobs.map(({ jobId }) => jobId).sort()).toEqual([id, ours].sort());
  for (const { attempt, maxAttempts } of jobs) {
    expect(attempt).toBe(0);
    expect(maxAttempts).toBeGreaterThan(0);
  }
});

test("on a link that is dead, a stop with a grace period and close end in seconds, whatever is under way", async () => {
  await using proxy = await startProxy(url);
  await using given = await setup({ connectionString: proxy.url, pollIntervalMs: 50 });
  const { provider, queue } = given;
  const entered = Promise.withResolvers<void>();
  const handler = async (): Promise<never> => {
    entered.resolve();
    return new Promise(() => undefined);
  };
  const worker = provider.startWorker(handler, { concurrency: 2 });
  await provider.enqueue(request);
  await entered.promise;
  const asked = queue.pool.query("select 1"); // the database itself is well
  proxy.mode = "stall";
  const hanging = provider.identity().catch(() => "no answer");
  await asked;
  const began = performance.now();
  await worker.stop({ abort: true, graceMs: 500 });
  await provider.close();
  expect(performance.now() - began).toBeLessThan(20_000);
  expect(await hanging).toBe("no answer");
});

async function heard(queue: Awaited<ReturnType<typeof openTestQueue>>): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await Bun.sleep(20)) {
    if ((await queue.pool.query(`select 1 ${listeners}`)).rows.length > 0) return;
  }
  throw new Error("nobody listens");
}
