// A composed host with a worker: tells what happens as lines of JSON, each with this process's time, and does what it is asked for by
// lines of JSON. It is started by startHostProcess with its options as its one argument, and ended by a kill.
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import type { JobsClient } from "../../../capability/index.ts";
import { createJobsWorker, defineJobKind, handleKind, type JobContext } from "../../../tasks/index.ts";
import { leaseOf, problem } from "../../postgres/support/jobs.ts";
import { startJobs } from "../../postgres/support/jobs-host.ts";
import {
  type HostProcessOptions,
  type HostProcessRequest,
  type HostWork,
  meetingPort,
} from "./host-process.ts";

const { url, driver, leaseSeconds } = JSON.parse(process.argv[2] as string) as HostProcessOptions;

const tell = (event: string, fields: object = {}): void =>
  void process.stdout.write(`${JSON.stringify({ event, at: Date.now(), ...fields })}\n`);
for (const event of ["unhandledRejection", "uncaughtException"] as const)
  process.on(event, (error: unknown) => tell(event, { message: String(error) }));

const configuration = { lease_seconds: leaseSeconds, poll_interval_ms: 200 };
const jobs = await startJobs({ url, driver, configuration });

/** The leases that claims here got, by job, since a handler does not see its own. */
const leases = new Map<string, ReturnType<typeof leaseOf>>();
const client: JobsClient = {
  ...jobs.worker,
  async claim(request, context) {
    const claimed = await jobs.worker.claim(request, context);
    if (claimed.ok) leases.set(claimed.value.job_id, leaseOf(claimed.value));
    return claimed;
  },
};

async function work({ hold, ms }: HostWork, { jobId, attempt, signal }: JobContext): Promise<void> {
  tell("entered", { jobId, attempt });
  if (!hold) await sleep(ms, undefined, { signal });
  else if (attempt === 1) await new Promise((_, reject) => signal.addEventListener("abort", reject));
  tell("left", { jobId, attempt });
}

const kind = defineJobKind({ kind: "send", payload: v.object({ hold: v.boolean(), ms: v.number() }) });
const handler = handleKind(kind, (payload, context) => {
  const { jobId, attempt, signal } = context;
  signal.addEventListener("abort", () => tell("aborted", { jobId, attempt, reason: String(signal.reason) }));
  return work(payload, context);
});

async function answer(request: HostProcessRequest): Promise<void> {
  if (request.do === "work") {
    createJobsWorker({
      jobs: client,
      signals: jobs.signals,
      queue: "mail",
      handlers: [handler],
      leaseSeconds,
      pollIntervalMs: 200,
      logger: false,
      onError: (error) => tell("error", { message: String(error) }),
    });
    return tell("working");
  }
  const lease = leases.get(request.jobId);
  if (lease === undefined) throw new Error("it has had no lease of this job");
  for (;;) {
    const result = await jobs.worker.complete(lease);
    if (problem(result).startsWith("runtime:")) await sleep(50);
    else return tell("settled", { jobId: request.jobId, result: problem(result) });
  }
}

Bun.listen({ hostname: "0.0.0.0", port: meetingPort, socket: { data: () => undefined } });
tell("ready");
for await (const line of console) void answer(JSON.parse(line) as HostProcessRequest);
process.exit(0); // whoever asked is gone
