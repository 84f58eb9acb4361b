// A process with a producer and a worker under steady load. It prints a sample of itself, as a line of JSON, each time that so many jobs are
// done, and ends by itself. Started by soak with its options as its one argument.
import { openSync } from "node:fs";
import { leaseOf, newJob, ok, problem } from "../../postgres/support/jobs.ts";
import { chaosQueues } from "./chaos-run.ts";
import type { SoakOptions } from "./soak.ts";
import { takeSample } from "./soak-sample.ts";
import { startChaosHost } from "./start-chaos-host.ts";

const { url, driver, jobs, forMs, everyJobs, pauseMs, leaks } = JSON.parse(
  process.argv[2] as string,
) as SoakOptions;
const lanes = 16;
const host = await startChaosHost({ url, driver, leaseSeconds: 60 });
const endsAt = performance.now() + forMs;
const leaked: number[][][] = [];
let asked = 0;
let done = 0;
const isOver = (): boolean => done >= jobs && performance.now() >= endsAt;

async function produce(): Promise<void> {
  while (!isOver()) {
    if (asked - done > 8 * lanes) {
      await Bun.sleep(1); // never far ahead of the worker
      continue;
    }
    asked += 1;
    ok(await host.producer.enqueue(newJob({ queue: chaosQueues[asked % chaosQueues.length] ?? "mail" })));
    if (pauseMs > 0) await Bun.sleep(pauseMs);
  }
}

async function work(_: unknown, lane: number): Promise<void> {
  const claim = (turn: number) =>
    host.worker.claim({ queue: chaosQueues[turn % chaosQueues.length] ?? "mail" });
  let next: ReturnType<typeof claim> | undefined;
  for (let turn = lane; !isOver() || next !== undefined; turn += 1) {
    const claimed = await (next ?? claim(turn));
    next = undefined;
    if (problem(claimed) === "no_job_available") {
      if (turn % chaosQueues.length === 0)
        ok(await host.signals.wait({ queues: [...chaosQueues], timeout_ms: 200 }));
      continue;
    }
    const lease = leaseOf(ok(claimed));
    // A job in ten takes the ways that others do not: a lease renewed, an attempt that fails.
    if (turn % 10 === 0) ok(await host.worker.renew(lease));
    if (turn % 10 === 5) ok(await host.worker.fail({ ...lease, failure_code: "soak", retryable: false }));
    else {
      const ended = host.worker.complete(lease);
      if (lane % 2 === 1 && !isOver()) next = claim(turn + 1); // the two share a statement
      ok(await ended);
    }
    done += 1;
    if (leaks) leaked.push(rows(done));
    if (leaks && done % 100 === 0) openSync("/dev/null", "r");
    if (done % everyJobs === 0) console.log(JSON.stringify(takeSample(done)));
  }
}

/** One array, of eight. */
function rows(from: number): number[][] {
  return Array.from({ length: 8 }, (_, row) =>
    Array.from({ length: 128 }, (__, index) => from + row + index),
  );
}

await Promise.all([...Array.from({ length: lanes / 2 }, produce), ...Array.from({ length: lanes }, work)]);
await host.stop();
if (leaks && leaked.length !== done) throw new Error("the leak does not leak");
