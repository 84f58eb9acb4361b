import { expect, test } from "bun:test";
import { ClaimLost } from "./abort-reasons.ts";
import { givenWorker } from "./testing/given-worker.ts";

test("a claim that is lost before its handler is entered ends quietly", async () => {
  const { backend, worker, entered, errors, now } = givenWorker({
    jobs: 1,
    prepare: (b) => {
      b.gates.pulse = () => void b.jobs.delete("job-1");
    },
  });
  await now();
  await worker.stop();
  expect(entered).toHaveLength(0);
  expect(errors).toEqual([]);
  expect(backend.log.some((entry) => entry.startsWith("settle"))).toBe(false);
});

test("a job that was cancelled before its handler is entered becomes cancelled without entering it", async () => {
  const { backend, worker, entered, now } = givenWorker({
    prepare: (b) => {
      b.add().cancelRequested = true;
    },
  });
  await now();
  await worker.stop();
  expect(entered).toHaveLength(0);
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "cancelled", finals: 1 });
});

test("a handler that runs for ten leases runs once", async () => {
  const { backend, worker, entered, time } = givenWorker({ jobs: 1, leaseMs: 1000, concurrency: 2 });
  await time.advance(10_000);
  expect(entered).toHaveLength(1);
  expect(entered[0]!.signal.aborted).toBe(false);
  entered[0]!.end();
  await time.advance(0);
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "succeeded", attempt: 1 });
  await worker.stop();
});

test("a backend whose fresh claim is proof needs no pulse for a short handler", async () => {
  const { backend, worker, entered, now } = givenWorker({ jobs: 1, freshClaimIsProof: true });
  await now();
  entered[0]!.end();
  await now();
  expect(backend.log.slice(0, 2)).toEqual(["fetch 1", "settle job-1/1 ok"]);
  await worker.stop();
});

test("a cancel request aborts the handler, and the job stays running until the handler has ended", async () => {
  const { backend, worker, entered, time, now } = givenWorker({ jobs: 1, leaseMs: 900 });
  await now();
  backend.jobs.get("job-1")!.cancelRequested = true;
  await time.advance(300);
  expect(entered[0]!.signal.reason).toMatchObject({ name: "JobCancelled" });
  await time.advance(5000);
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "running", attempt: 1 });
  entered[0]!.end();
  await now();
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "cancelled", finals: 1 });
  backend.add();
  await now();
  expect(entered).toHaveLength(2); // the worker takes the next job
  entered[1]!.end();
  await worker.stop();
});

test("a claim that another worker took aborts the handler, and its result changes nothing", async () => {
  const { backend, worker, entered, errors, time, now } = givenWorker({ jobs: 1 });
  await now();
  backend.jobs.get("job-1")!.attempt = 2;
  await time.advance(400);
  expect(entered[0]!.signal.reason).toMatchObject({ name: "ClaimLost" });
  const pulses = backend.log.length;
  await time.advance(3000);
  expect(backend.log.slice(pulses).filter((entry) => entry.startsWith("pulse job-1/1"))).toEqual([]);
  entered[0]!.end();
  await worker.stop();
  expect(errors).toEqual([expect.any(ClaimLost)]);
  expect(backend.log.some((entry) => entry.startsWith("settle job-1/1"))).toBe(false);
});

test("a pulse in flight is awaited before the attempt is settled", async () => {
  const inFlight = Promise.withResolvers<void>();
  const { backend, worker, entered, time, now } = givenWorker({ jobs: 1, leaseMs: 3000 });
  await now();
  backend.gates.pulse = (when) => (when === "after" ? inFlight.promise : undefined);
  await time.advance(1000);
  entered[0]!.end();
  await now();
  expect(backend.log.at(-1)).toBe("pulse job-1/1");
  inFlight.resolve();
  await now();
  expect(backend.log).toContain("settle job-1/1 ok");
  await worker.stop();
});

test("a handler over its time is aborted, and the attempt is retried", async () => {
  const { backend, worker, entered, time } = givenWorker({ jobs: 1, timeoutMs: 5000 });
  await time.advance(4999);
  expect(entered[0]!.signal.aborted).toBe(false);
  await time.advance(1);
  expect(entered[0]!.signal.reason).toMatchObject({ name: "TimedOut" });
  entered[0]!.end({ ok: false, error: "aborted", final: false });
  await time.advance(0);
  expect(entered[1]).toMatchObject({ jobId: "job-1", attempt: 2 });
  entered[1]!.end();
  await worker.stop();
  expect(backend.jobs.get("job-1")?.state).toBe("succeeded");
});

test("when pulses don't get through, the handler is aborted before its lease can expire", async () => {
  const { backend, worker, entered, errors, time, now } = givenWorker({ jobs: 1, leaseMs: 1000 });
  await now();
  const claimedAt = time.now();
  let abortedAfter: number | undefined;
  entered[0]!.signal.addEventListener("abort", () => {
    abortedAfter = time.now() - claimedAt;
  });
  backend.gates.pulse = () => Promise.reject(new Error("down"));
  await time.advance(950);
  expect(abortedAfter).toBe(900);
  expect(entered[0]!.signal.reason).toMatchObject({ name: "ClaimLost" });
  expect(backend.jobs.get("job-1")!.leaseUntil).toBeGreaterThan(time.now());
  entered[0]!.end();
  await now();
  expect(backend.log.some((entry) => entry.startsWith("settle"))).toBe(false);
  expect(errors.map(String)).toEqual([
    "Error: down",
    "ClaimLost: attempt 1 of job job-1: no pulse got through before the lease could expire",
  ]);
  await worker.stop();
});

test("a lease that runs out while the last pulse is awaited keeps the attempt from being settled", async () => {
  const answer = Promise.withResolvers<void>();
  const { backend, worker, entered, errors, time, now } = givenWorker({ jobs: 1, leaseMs: 3000 });
  await now();
  backend.gates.pulse = (when) => (when === "after" ? answer.promise : undefined);
  await time.advance(1000); // a pulse is in flight, sent 0.9 to 1 s after the claim
  entered[0]!.end();
  await now();
  time.block(2800);
  answer.resolve();
  await now();
  expect(backend.log.some((entry) => entry.startsWith("settle job-1/1"))).toBe(false);
  expect(errors.at(-1)).toBeInstanceOf(ClaimLost);
  await worker.stop();
});

test("the lease is reckoned from before a pulse was sent, however late its answer comes", async () => {
  const answer = Promise.withResolvers<void>();
  const { backend, worker, entered, time, now } = givenWorker({ jobs: 1, leaseMs: 3000 });
  await now();
  backend.gates.pulse = (when) => (when === "after" ? answer.promise : undefined);
  await time.advance(1000); // sent 0.9 to 1 s after the claim
  await time.advance(800);
  answer.resolve();
  await now();
  backend.gates.pulse = () => Promise.reject(new Error("down"));
  await time.advance(1901); // 3.7 s after the claim: the lease less its margin, from the latest time of sending
  expect(entered[0]!.signal.aborted).toBe(true);
  entered[0]!.end();
  await worker.stop();
});

test("an event loop blocked longer than the lease sends no success, and onError hears why", async () => {
  const { backend, worker, entered, errors, time, now } = givenWorker({ jobs: 1, leaseMs: 1000 });
  await now();
  time.block(3000);
  entered[0]!.end();
  await now();
  expect(backend.log.some((entry) => entry.startsWith("settle job-1/1"))).toBe(false);
  expect(String(errors[0])).toMatch(/event loop blocked 2\.\d s; lease lost/);
  // It runs again, as it would have elsewhere.
  expect(entered[1]).toMatchObject({ jobId: "job-1", attempt: 2 });
  entered[1]!.end();
  await worker.stop();
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "succeeded", finals: 1 });
});

test("after a blocked event loop a handler sees at once that its lease may be gone", async () => {
  const { worker, entered, time, now } = givenWorker({ jobs: 1, leaseMs: 1000 });
  await now();
  const { signal } = entered[0]!;
  time.block(800);
  expect(signal.aborted).toBe(false);
  time.block(200);
  expect(() => signal.throwIfAborted()).toThrow("event loop blocked");
  expect(signal.reason).toMatchObject({ name: "ClaimLost" });
  entered[0]!.end();
  await worker.stop();
});

test("a settlement whose reply is lost is asked for again, and recorded once", async () => {
  let replies = 0;
  const { backend, worker, entered, errors, time, now } = givenWorker({ jobs: 1, leaseMs: 10_000 });
  backend.gates.settle = (when) => {
    if (when === "after" && ++replies < 3) throw new Error("reply lost");
  };
  await now();
  entered[0]!.end();
  await time.advance(1000);
  expect(backend.log.filter((entry) => entry === "settle job-1/1 ok")).toHaveLength(3);
  expect(backend.jobs.get("job-1")).toMatchObject({ state: "succeeded", finals: 1 });
  expect(errors.map(String)).toEqual(["Error: reply lost"]);
  await worker.stop();
});

test("a settlement is given up at the lease's deadline, and onError hears of it", async () => {
  const { backend, worker, entered, errors, time, now } = givenWorker({ jobs: 1, leaseMs: 1000 });
  await now();
  const sentAt = time.now();
  let lastTryAfter = 0;
  backend.gates.settle = () => {
    lastTryAfter = time.now() - sentAt;
    throw new Error("down");
  };
  entered[0]!.end();
  await time.advance(950);
  expect(lastTryAfter).toBeGreaterThan(300);
  expect(lastTryAfter).toBeLessThan(900);
  expect(time.now() - sentAt).toBeLessThan(1000);
  expect(String(errors.at(-1))).toContain("its end could not be recorded before the lease could expire");
  delete backend.gates.settle;
  await time.advance(2000);
  expect(entered[1]).toMatchObject({ jobId: "job-1", attempt: 2 });
  entered[1]!.end();
  await worker.stop();
});

test("a settlement that comes too late is told so and changes nothing", async () => {
  const { backend, worker, entered, errors, now } = givenWorker({ jobs: 1 });
  await now();
  backend.jobs.delete("job-1");
  entered[0]!.end();
  await now();
  expect(String(errors[0])).toContain("its claim was lost before its end was recorded");
  await worker.stop();
});

test("under random faults no job is lost and no final state is written twice", async () => {
  for (let seed = 1; seed <= 15; seed += 1) {
    let state = seed;
    const chance = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    };
    let faulty = true;
    const { backend, worker, time } = givenWorker({
      jobs: 12,
      concurrency: 3,
      leaseMs: 1000,
      maxOutageMs: 3_600_000,
      execute: async () => {
        if (faulty && chance() < 0.2) time.block(1500);
        return { ok: true, result: null };
      },
      prepare: (b) => {
        for (const verb of ["fetch", "pulse", "settle", "wait"] as const)
          b.gates[verb] = () => {
            if (faulty && chance() < 0.25) throw new Error(`${verb} failed`);
          };
        for (const job of b.jobs.values()) job.maxAttempts = 1000;
      },
    });
    await time.advance(10_000);
    faulty = false;
    await time.advance(30_000);
    for (const job of backend.jobs.values()) expect(job).toMatchObject({ state: "succeeded", finals: 1 });
    await worker.stop();
    expect(time.pendingTimers).toBe(0);
  }
});
