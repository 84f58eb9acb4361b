import { setTimeout as sleep } from "node:timers/promises";
import { type JobHost, JobHostError } from "../../job-provider/host/index.ts";

/** How a worker runs in a process of its own. */
export interface WorkerRun {
  readonly concurrency: number;
  /** How long attempts may go on after the signal before theirs aborts, in seconds. */
  readonly drainSeconds: number;
  /** Begins the drain. */
  readonly signal: AbortSignal;
  say(line: string): void;
}

/** How long an attempt whose signal has aborted is waited for, in ms. One that goes on is left: its lease runs out. */
const graceMs = 10_000;

/** Works jobs until the signal, then drains. @throws JobHostError when an outage outlasts five minutes, or the host cannot work at all */
export async function runWorker(host: JobHost, run: WorkerRun): Promise<void> {
  const { concurrency, drainSeconds, signal, say } = run;
  // Nothing is said of work before it is known that there can be some; a database that is away is the worker's to wait for.
  await host.list({ limit: 1 }).catch((error: unknown) => {
    if (error instanceof JobHostError && error.code === "schema-unfit") throw error;
  });
  const worker = host.startWorker({ concurrency });
  const drained = new AbortController();
  const drain = async (): Promise<void> => {
    say(`draining: no new jobs, and ${drainSeconds} s for the attempts under way`);
    void worker.stop();
    await sleep(drainSeconds * 1000, undefined, { signal: drained.signal });
    say("the time is up: attempts are aborted, and their jobs go on in another worker");
    await worker.stop({ abort: true, graceMs });
  };
  const beginDrain = (): void => void drain().catch(() => undefined); // the drain was over before its time
  signal.addEventListener("abort", beginDrain, { once: true });
  if (signal.aborted) beginDrain();
  else say(`working in process ${process.pid}; SIGTERM or Ctrl-C drains`);
  try {
    await worker.done;
  } finally {
    drained.abort();
    signal.removeEventListener("abort", beginDrain);
  }
}
