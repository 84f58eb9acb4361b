import { expect, test } from "bun:test";
import { TaskQueueError } from "../task-queue-error.ts";
import { HandlerLeft } from "./abort-reasons.ts";
import { givenWorker, succeeded } from "./testing/given-worker.ts";

test("an attempt proves its ownership, runs its handler and is settled, in that order", async () => {
  const { backend, worker, entered, now } = givenWorker({ jobs: 1 });
  await now();
  expect(backend.log).toEqual(["fetch 1", "pulse job-1/1"]);
  expect(entered).toHaveLength(1);
  entered[0]!.end({ ok: true, result: { sent: 1 } });
  await now();
  expect(backend.log.slice(0, 3)).toEqual(["fetch 1", "pulse job-1/1", "settle job-1/1 ok"]);
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "succeeded", result: { sent: 1 }, finals: 1 });
  await worker.stop();
});

test("a full claim is followed at once by the next, without waiting for the polling interval", async () => {
  const { backend, worker, time } = givenWorker({
    jobs: 500,
    concurrency: 32,
    pollIntervalMs: 3_600_000,
    execute: async () => succeeded,
  });
  const before = time.now();
  while ([...backend.jobs.values()].some(({ state }) => state !== "succeeded")) await time.advance(0);
  expect(time.now()).toBe(before);
  await worker.stop();
});

test("no more handlers run at once than the concurrency allows", async () => {
  const { worker, entered, now } = givenWorker({ jobs: 5, concurrency: 2 });
  await now();
  expect(entered).toHaveLength(2);
  entered[0]!.end();
  await now();
  expect(entered).toHaveLength(3);
  const stopped = worker.stop();
  for (const handler of entered) handler.end();
  await stopped;
});

test("where both go together, the next job is fetched while the end of the last is recorded", async () => {
  const recorded = Promise.withResolvers<void>();
  const { backend, worker, entered, now } = givenWorker({
    jobs: 3,
    freshClaimIsProof: true,
    prepare: (b) => {
      b.fetchesWhileSettling = true;
      b.gates.settle = (when) => (when === "after" ? recorded.promise : undefined);
    },
  });
  await now();
  entered[0]!.end();
  await now();
  expect(backend.log).toEqual(["fetch 1", "settle job-1/1 ok", "fetch 1"]);
  expect(entered.map(({ jobId }) => jobId)).toEqual(["job-1", "job-2"]);
  entered[1]!.end();
  await now();
  expect(entered).toHaveLength(2); // ends that are not recorded do not pile up
  recorded.resolve();
  await now();
  expect(entered).toHaveLength(3);
  entered[2]!.end();
  await worker.stop();
  expect([...backend.jobs.values()].map(({ finals }) => finals)).toEqual([1, 1, 1]);
});

test("where they do not, a slot is free once the end is recorded", async () => {
  const recorded = Promise.withResolvers<void>();
  const { backend, worker, entered, now } = givenWorker({
    jobs: 2,
    freshClaimIsProof: true,
    prepare: (b) => {
      b.gates.settle = (when) => (when === "after" ? recorded.promise : undefined);
    },
  });
  await now();
  entered[0]!.end();
  await now();
  expect(backend.log).toEqual(["fetch 1", "settle job-1/1 ok"]);
  recorded.resolve();
  await now();
  expect(entered).toHaveLength(2);
  entered[1]!.end();
  await worker.stop();
});

test("an idle worker is woken before its polling interval is over", async () => {
  const { backend, worker, entered, now } = givenWorker({ pollIntervalMs: 3_600_000 });
  await now();
  backend.add();
  await now();
  expect(entered).toHaveLength(1);
  entered[0]!.end();
  await worker.stop();
});

test("without wake-ups an idle worker looks again after its polling interval", async () => {
  const { backend, worker, entered, time } = givenWorker({
    pollIntervalMs: 1000,
    prepare: (b) => {
      b.gates.wait = () => Promise.reject(new Error("no listener"));
    },
  });
  await time.advance(0);
  backend.add();
  await time.advance(900);
  await time.advance(150);
  expect(entered).toHaveLength(1);
  entered[0]!.end();
  await worker.stop();
});

test("a worker that is woken for nothing again and again does not spin", async () => {
  const { backend, worker, time } = givenWorker();
  for (let round = 0; round < 50; round += 1) {
    backend.wake();
    await time.advance(1);
  }
  expect(backend.log.length).toBeLessThan(25);
  await worker.stop();
});

test("a queue out of reach is told once, asked again with growing pauses, and worked again afterwards", async () => {
  const down = new Error("down");
  let calls = 0;
  const { backend, worker, entered, errors, time } = givenWorker({
    jobs: 1,
    prepare: (b) => {
      b.gates.fetch = (when) => {
        calls += when === "before" ? 1 : 0;
        throw down;
      };
    },
  });
  await time.advance(60_000);
  expect(errors).toEqual([down]);
  expect(calls).toBeGreaterThan(6);
  expect(calls).toBeLessThan(25);
  delete backend.gates.fetch;
  await time.advance(10_000);
  expect(entered).toHaveLength(1);

  entered[0]!.end();
  await time.advance(0);
  backend.gates.fetch = () => Promise.reject(down);
  await time.advance(5000);
  expect(errors).toEqual([down, down]); // a new outage is told again
  await worker.stop();
});

test("done rejects when an outage outlasts its bound, and only then", async () => {
  const { worker, time } = givenWorker({
    maxOutageMs: 30_000,
    prepare: (b) => {
      b.gates.fetch = () => Promise.reject(new Error("down"));
    },
  });
  let over: unknown;
  worker.done.catch((error: unknown) => {
    over = error;
  });
  await time.advance(25_000);
  expect(over).toBeUndefined();
  await time.advance(20_000);
  expect(over).toBeInstanceOf(TaskQueueError);
  expect(over).toMatchObject({ code: "provider-unavailable", phase: "work" });
  await worker.stop(); // resolves although done rejected
});

test("a queue that cannot work at all ends the worker at once", async () => {
  const refusal = new TaskQueueError("invalid-options", "work");
  const { worker } = givenWorker({
    prepare: (b) => {
      b.gates.fetch = () => Promise.reject(refusal);
    },
  });
  expect(worker.done).rejects.toBe(refusal);
});

/** A worker whose first fetch claims, and is answered only when the test says so, long after it was given up. */
function givenLateFetch(given: { readonly concurrency: number; readonly maxAttempts?: number }) {
  const answer = Promise.withResolvers<void>();
  const { concurrency, ...job } = given;
  const worker = givenWorker({
    concurrency,
    callTimeoutMs: 500,
    leaseMs: 60_000,
    prepare: (backend) => {
      backend.add(job);
      let first = true;
      backend.gates.fetch = async (when) => {
        if (when === "before" || !first) return;
        first = false;
        await answer.promise;
      };
    },
  });
  return { ...worker, answer: answer.resolve };
}

test("a fetch that never answers is given up, and what it claimed runs when the answer comes after all", async () => {
  const { worker, entered, time, answer } = givenLateFetch({ concurrency: 2 });
  await time.advance(500);
  answer();
  await time.advance(0);
  expect(entered.map(({ jobId }) => jobId)).toEqual(["job-1"]);
  entered[0]!.end();
  await worker.stop();
});

test("claims that come late never run beside full slots: they are given back, and no fetch asks for less than one job", async () => {
  const { backend, worker, entered, time, answer } = givenLateFetch({ concurrency: 1 });
  backend.add();
  await time.advance(2000);
  expect(entered.map(({ jobId }) => jobId)).toEqual(["job-2"]);
  answer();
  await time.advance(2000);
  expect(entered).toHaveLength(1);
  expect(backend.log).toContain("giveBack job-1/1");
  entered[0]!.end();
  await time.advance(2000);
  expect(entered.map(({ jobId }) => jobId)).toEqual(["job-2", "job-1"]);
  entered[1]!.end();
  await worker.stop();
  expect(backend.log.filter((call) => /^fetch (0|-)/.test(call))).toEqual([]);
});

test("a last attempt that comes late waits for a slot, since giving it back could be its end", async () => {
  const { backend, worker, entered, time, answer } = givenLateFetch({ concurrency: 1, maxAttempts: 1 });
  backend.add();
  await time.advance(2000);
  answer();
  await time.advance(2000);
  expect(entered.map(({ jobId }) => jobId)).toEqual(["job-2"]);
  entered[0]!.end();
  await time.advance(0);
  expect(entered.map(({ jobId }) => jobId)).toEqual(["job-2", "job-1"]);
  entered[1]!.end();
  await worker.stop();
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "succeeded", attempt: 1 });
});

test("a stop waits for the answer to a fetch that was given up, and sees to what it claimed", async () => {
  const { backend, worker, entered, time, answer } = givenLateFetch({ concurrency: 1 });
  await time.advance(500);
  let isStopped = false;
  const stopped = worker.stop().then(() => {
    isStopped = true;
  });
  await time.advance(1000);
  expect(isStopped).toBe(false);
  answer();
  await stopped;
  expect(backend.log).toContain("giveBack job-1/1");
  expect(entered).toHaveLength(0);
});

test("a stop does not wait for ever for a fetch that is never answered", async () => {
  const { worker, time } = givenLateFetch({ concurrency: 1 });
  await time.advance(500);
  const stopped = worker.stop();
  await time.advance(15_000);
  await stopped;
});

test("a claim with an end of its own is fenced before it, whatever pulses say", async () => {
  const { worker, entered, errors, time } = givenWorker({
    jobs: 1,
    leaseMs: 3000,
    prepare: (backend) => {
      backend.longestRunMs = 10_000;
    },
  });
  await time.advance(8500);
  expect(entered[0]!.signal.aborted).toBe(false);
  await time.advance(600);
  expect(entered[0]!.signal.reason).toMatchObject({ name: "ClaimLost" });
  entered[0]!.end();
  await time.advance(0);
  expect(String(errors[0])).toContain("its longest run is over");
  await worker.stop();
});

test("a pulse that failed once, and that nobody repeated, does not hide a later outage", async () => {
  const down = new Error("down");
  const { backend, worker, entered, errors, time } = givenWorker({ jobs: 1, pollIntervalMs: 1000 });
  await time.advance(0);
  backend.gates.pulse = () => {
    throw down;
  };
  await time.advance(400);
  expect(errors).toEqual([down]);
  entered[0]!.end();
  await time.advance(120_000);
  expect(errors).toHaveLength(1);
  backend.gates.fetch = () => {
    throw down;
  };
  await time.advance(5000);
  expect(errors).toEqual([down, down]);
  await worker.stop();
});

test("a batch works what is due, at most maxJobs, and ends", async () => {
  const some = givenWorker({ jobs: 5, concurrency: 2, maxJobs: 3, execute: async () => succeeded });
  await some.worker.done;
  expect([...some.backend.jobs.values()].filter(({ state }) => state === "succeeded")).toHaveLength(3);
  const all = givenWorker({ jobs: 2, concurrency: 4, maxJobs: 100, execute: async () => succeeded });
  await all.worker.done;
  expect([...all.backend.jobs.values()].every(({ state }) => state === "succeeded")).toBe(true);
  expect(all.time.pendingTimers).toBe(0);
});

test("stop takes no more jobs and resolves after the handlers have been settled", async () => {
  const { backend, worker, entered, now, time } = givenWorker({ jobs: 3, concurrency: 2 });
  await now();
  let stopped = false;
  const stopping = worker.stop().then(() => {
    stopped = true;
  });
  await time.advance(10_000);
  expect(stopped).toBe(false);
  expect(entered.every(({ signal }) => !signal.aborted)).toBe(true);
  for (const handler of entered) handler.end();
  await now();
  await stopping;
  expect([...backend.jobs.values()].map(({ state }) => state)).toEqual(["succeeded", "succeeded", "pending"]);
  expect(time.pendingTimers).toBe(0);
});

test("stop is safe at once after the start, twice, and at the same time", async () => {
  const { worker, entered, time } = givenWorker({ jobs: 1 });
  await Promise.all([worker.stop(), worker.stop(), worker.stop({ abort: true })]);
  await worker.stop();
  await worker.done;
  expect(entered).toHaveLength(0);
  expect(time.pendingTimers).toBe(0);
});

test("a claim that arrives after stop is given back without entering its handler", async () => {
  const claimed = Promise.withResolvers<void>();
  const { backend, worker, entered, now } = givenWorker({
    jobs: 1,
    prepare: (b) => {
      b.gates.fetch = (when) => (when === "after" ? claimed.promise : undefined);
    },
  });
  await now();
  const stopped = worker.stop();
  claimed.resolve();
  await stopped;
  expect(entered).toHaveLength(0);
  expect(backend.log).toEqual(["fetch 1", "giveBack job-1/1"]);
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "pending", attempt: 0 });
});

test("a last attempt that arrives after stop is run, so that a deploy fails no job", async () => {
  const claimed = Promise.withResolvers<void>();
  const { backend, worker, now } = givenWorker({
    execute: async () => succeeded,
    prepare: (b) => {
      b.add({ maxAttempts: 1 });
      b.gates.fetch = (when) => (when === "after" ? claimed.promise : undefined);
    },
  });
  await now();
  const stopped = worker.stop();
  claimed.resolve();
  await stopped;
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "succeeded", attempt: 1 });
});

test("stop with abort aborts the handlers and still waits for them: one that ignores it keeps its slot", async () => {
  const { backend, worker, entered, time, now } = givenWorker({ jobs: 2 });
  await now();
  let stopped = false;
  void worker.stop({ abort: true }).then(() => {
    stopped = true;
  });
  expect(entered[0]!.signal.reason).toMatchObject({ name: "WorkerStopping" });
  await time.advance(60_000);
  expect(stopped).toBe(false);
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "running", attempt: 1 }); // still renewed
  entered[0]!.end({ ok: false, error: "aborted", final: false });
  await now();
  expect(stopped).toBe(true);
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "pending", error: "aborted", attempt: 1 });
});

test("with graceMs a handler that ignores its abort is reported and left, and its claim is renewed no more", async () => {
  const { backend, worker, entered, errors, time, now } = givenWorker({ jobs: 1 });
  await now();
  const stopped = worker.stop({ abort: true, graceMs: 5000 });
  await time.advance(5000);
  await stopped;
  expect(errors).toHaveLength(1);
  expect(errors[0]).toBeInstanceOf(HandlerLeft);
  expect((errors[0] as Error).message).toContain("attempt 1 of job job-1 (task)");
  expect(time.pendingTimers).toBe(0);
  const { length } = backend.log;
  entered[0]!.end();
  await time.advance(10_000);
  expect(backend.log).toHaveLength(length);
  expect(backend.jobs.get("job-1")?.finals).toBe(0);
});

/** A stopping worker whose handler has been told so, and goes on. */
async function stoppingWorker() {
  const given = givenWorker({ jobs: 1, leaseMs: 1000 });
  await given.now();
  const [handler] = given.entered;
  const stopped = given.worker.stop({ abort: true, graceMs: 5000 });
  expect(handler!.signal.reason).toMatchObject({ name: "WorkerStopping" });
  expect(handler!.gone.aborted).toBe(false);
  return { ...given, handler: handler!, stopped };
}

test("a handler that was told of a stop is still told when its claim is lost", async () => {
  const { backend, handler, stopped, time, now } = await stoppingWorker();
  const told: unknown[] = [];
  handler.gone.addEventListener("abort", () => told.push(handler.gone.reason));
  backend.gates.pulse = () => Promise.reject(new Error("away"));
  await time.advance(1000);
  expect(told).toEqual([expect.objectContaining({ name: "ClaimLost" })]);
  expect(handler.signal.reason).toMatchObject({ name: "WorkerStopping" });
  handler.end();
  await now();
  await stopped;
});

test("a handler that was told of a stop finds by looking that its claim is lost, when no timer could fire", async () => {
  const { handler, stopped, time, now } = await stoppingWorker();
  time.block(2000);
  expect(handler.gone.aborted).toBe(true);
  expect(handler.gone.reason).toMatchObject({ name: "ClaimLost" });
  handler.end();
  await now();
  await stopped;
});

test("a handler that was told of a stop is still told when its job is cancelled", async () => {
  const { backend, handler, stopped, time, now } = await stoppingWorker();
  backend.jobs.get("job-1")!.cancelRequested = true;
  await time.advance(400);
  expect(handler.gone.reason).toMatchObject({ name: "JobCancelled" });
  handler.end();
  await now();
  await stopped;
});

test("a handler that its worker left is told that its job is gone", async () => {
  const { handler, stopped, time } = await stoppingWorker();
  await time.advance(4900);
  expect(handler.gone.aborted).toBe(false);
  await time.advance(100);
  await stopped;
  expect(handler.gone.reason).toMatchObject({ name: "HandlerLeft" });
});

test("hooks that throw, at once or later, change nothing", async () => {
  let told = 0;
  const { backend, worker, time } = givenWorker({
    jobs: 20,
    concurrency: 3,
    execute: () => Promise.reject(new Error("a bug of the queue")),
    onError: () => {
      told += 1;
      if (told % 2 === 0) throw new Error("hook");
      return Promise.reject(new Error("later")) as unknown as void;
    },
  });
  await time.advance(10_000);
  expect([...backend.jobs.values()].every(({ state, attempt }) => state === "failed" && attempt === 3)).toBe(
    true,
  );
  expect(told).toBe(60);
  await worker.stop();
});
