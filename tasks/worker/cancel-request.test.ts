import { expect, test } from "bun:test";
import { JobCancelled } from "./abort-reasons.ts";
import { givenWorker } from "./testing/given-worker.ts";

const pulses = (log: readonly string[]): string[] => log.filter((entry) => entry.startsWith("pulse"));

test("a cancel request that is told reaches the handler at once, not at the next pulse", async () => {
  const { backend, worker, entered, now } = givenWorker({ jobs: 2, concurrency: 2, freshClaimIsProof: true });
  await now();
  backend.jobs.get("job-2")!.cancelRequested = true;
  backend.tellCancelRequest("job-2");
  await now();
  expect(entered.map(({ signal }) => signal.aborted)).toEqual([false, true]);
  expect(entered[1]!.signal.reason).toBeInstanceOf(JobCancelled);
  expect(pulses(backend.log)).toEqual(["pulse job-2/1"]); // the others are left alone
  for (const handler of entered) handler.end();
  await worker.stop();
});

test("when requests may have been missed, every attempt pulses", async () => {
  const { backend, worker, entered, now } = givenWorker({ jobs: 2, concurrency: 2, freshClaimIsProof: true });
  await now();
  backend.jobs.get("job-1")!.cancelRequested = true;
  backend.tellCancelRequest();
  await now();
  expect(entered.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  expect(pulses(backend.log).sort()).toEqual(["pulse job-1/1", "pulse job-2/1"]);
  for (const handler of entered) handler.end();
  await worker.stop();
});

test("a request that is told while a pulse is in flight is asked about again after it", async () => {
  const { backend, worker, entered, now } = givenWorker({ jobs: 1, freshClaimIsProof: true });
  await now();
  const gate = Promise.withResolvers<void>();
  backend.gates.pulse = (when) => (when === "after" ? gate.promise : undefined);
  backend.tellCancelRequest("job-1");
  await now();
  backend.jobs.get("job-1")!.cancelRequested = true; // after the pulse in flight has looked
  for (let times = 0; times < 5; times += 1) backend.tellCancelRequest("job-1");
  delete backend.gates.pulse;
  gate.resolve();
  await now();
  expect(entered[0]!.signal.reason).toBeInstanceOf(JobCancelled);
  expect(pulses(backend.log)).toHaveLength(2);
  entered[0]!.end();
  await worker.stop();
});

test("a request that is told before the claim's own answer has come aborts the handler at once", async () => {
  const gate = Promise.withResolvers<void>();
  const { backend, worker, entered, now } = givenWorker({
    jobs: 1,
    freshClaimIsProof: true,
    prepare: (b) => {
      b.gates.fetch = (when) => (when === "after" ? gate.promise : undefined);
    },
  });
  await now();
  delete backend.gates.fetch;
  backend.jobs.get("job-1")!.cancelRequested = true;
  backend.tellCancelRequest("job-1");
  gate.resolve();
  await now();
  expect(entered[0]!.signal.reason).toBeInstanceOf(JobCancelled);
  entered[0]!.end();
  await worker.stop();
});

test("after its handler has ended an attempt pulses no more, and a stopped worker listens no more", async () => {
  const { backend, worker, entered, now } = givenWorker({ jobs: 1, freshClaimIsProof: true });
  await now();
  entered[0]!.end();
  await now();
  backend.tellCancelRequest("job-1");
  backend.tellCancelRequest();
  await now();
  expect(pulses(backend.log)).toEqual([]);
  expect(backend.cancelListeners).toBe(1);
  await worker.stop();
  expect(backend.cancelListeners).toBe(0);
});
