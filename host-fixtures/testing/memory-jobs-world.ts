import {
  type ClaimResponse,
  createJobsClient,
  type EnqueueRequest,
  type InspectResponse,
  type JobsClient,
} from "../../capability/index.ts";
import { createTestClock } from "../clock.ts";
import { type Host, startHost } from "../host.ts";
import { createMemoryJobs, type MemoryJobs } from "../memory-jobs.ts";
import { testPlugin } from "./test-plugin.ts";

export const configuration: Readonly<Record<string, unknown>> = {
  schema: "jobs",
  database_url_secret: "jobs/url",
  lease_seconds: 30,
  retry_base_seconds: 10,
  retry_max_seconds: 25,
  queues: ["mail", "other"],
  producer_instances: ["producer"],
  worker_instances: ["worker", "rival"],
  observer_instances: ["observer"],
};

/** A host of one Jobs Instance in memory, a client for each role, and the clock that drives it. */
export interface MemoryJobsWorld {
  readonly host: Host;
  readonly clock: ReturnType<typeof createTestClock>;
  readonly jobs: MemoryJobs;
  readonly store: ReturnType<MemoryJobs["store"]>;
  readonly producer: JobsClient;
  readonly worker: JobsClient;
  as(key: string): JobsClient;
}

export async function setup(
  given: { readonly clock?: ReturnType<typeof createTestClock>; readonly jobs?: MemoryJobs } = {},
): Promise<MemoryJobsWorld> {
  const clock = given.clock ?? createTestClock();
  const jobs = given.jobs ?? createMemoryJobs({ clock });
  const caller = {
    plugin: testPlugin({ provides: {}, needs: [{ id: "jobs", capability: "lenso.jobs@1" }] }),
  };
  const callers = ["producer", "worker", "rival", "observer", "stranger"];
  const host = await startHost({
    instances: {
      jobs: { plugin: jobs, configuration },
      ...Object.fromEntries(callers.map((key) => [key, caller])),
    },
    bindings: callers.map((consumer) => ({ consumer, requirement: "jobs", provider: "jobs" })),
  });
  const as = (key: string): JobsClient => createJobsClient(host.handle(key, "jobs"));
  return { host, clock, jobs, store: jobs.store("jobs"), producer: as("producer"), worker: as("worker"), as };
}

let keys = 0;

/** A valid request under a key of its own. */
export function mail(changes: Partial<EnqueueRequest> = {}): EnqueueRequest {
  keys += 1;
  return {
    queue: "mail",
    kind: "mail.send",
    payload: { to: "ada" },
    idempotency_key: `key-${keys}`,
    available_at: "2026-01-01T00:00:00Z",
    max_attempts: 3,
    ...changes,
  };
}

/** The value of a call that must succeed. */
export async function valueOf<T>(
  call: Promise<{ ok: true; value: T } | { ok: false; error: unknown }>,
): Promise<T> {
  const result = await call;
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** What a call answers that the contract refuses, for `toEqual`. */
export function refused(error: string): never {
  return { ok: false, error: { kind: "domain", error } } as never;
}

/** Enqueues a job and answers its id. */
export async function given(
  { producer }: MemoryJobsWorld,
  changes?: Partial<EnqueueRequest>,
): Promise<string> {
  return (await valueOf(producer.enqueue(mail(changes)))).job_id;
}

export function claimed({ worker }: MemoryJobsWorld, queue = "mail"): Promise<ClaimResponse> {
  return valueOf(worker.claim({ queue }));
}

export function evidence({ producer }: MemoryJobsWorld, job_id: string): Promise<InspectResponse> {
  return valueOf(producer.inspect({ job_id }));
}

export function leaseOf(claim: { readonly job_id: string; readonly lease_token: string }): {
  job_id: string;
  lease_token: string;
} {
  return { job_id: claim.job_id, lease_token: claim.lease_token };
}
