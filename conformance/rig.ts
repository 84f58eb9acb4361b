import {
  type CapabilityHandle,
  type CapabilityProviderBinding,
  type ClaimResponse,
  createJobsClient,
  type EnqueueRequest,
  type InspectResponse,
  type JobsClient,
  type LeaseRequest,
} from "../capability/index.ts";
import { addMilliseconds } from "../host-fixtures/clock.ts";
import { ConformanceFailure } from "./expect-equal.ts";
import {
  type ConformanceCaller,
  conformanceCallers,
  type HeldLease,
  type JobsConformance,
  type JobsWorld,
  type WorldConfiguration,
} from "./jobs-conformance.ts";
import { valueOf } from "./verdict-of.ts";

/** What a case works with: one world, a client for each caller, and the clock. */
export interface Rig extends Readonly<Record<ConformanceCaller, JobsClient>> {
  readonly configuration: WorldConfiguration;
  handle(caller: ConformanceCaller): CapabilityHandle;
  endpoint(): CapabilityProviderBinding;
  /** A request that is fine as it is, due at once, under a key of its own. */
  request(changes?: Partial<EnqueueRequest>): EnqueueRequest;
  enqueue(changes?: Partial<EnqueueRequest>): Promise<GivenJob>;
  /** Enqueues and claims it. Needs a queue without another due job. */
  running(changes?: Partial<EnqueueRequest>): Promise<RunningJob>;
  /** The next job of the queue, which must have one. */
  claim(queue?: string): Promise<ClaimResponse>;
  /** The ids that a queue hands out until it has none, in that order. */
  claimAll(queue?: string): Promise<string[]>;
  inspect(jobId: string): Promise<InspectResponse>;
  /** Moves the provider's clock, or waits. */
  advance(milliseconds: number): Promise<void>;
  /** Lets the present leases pass, unless they are renewed. */
  passLease(): Promise<void>;
  /** Lets the longest delay between two attempts pass. */
  passDelay(): Promise<void>;
  /** The instant so many seconds after the case began. Only with a clock that stands still. */
  at(seconds: number): string;
  maintain(): Promise<void>;
  fence(): Promise<void>;
  holdLease(jobId: string): Promise<HeldLease>;
  /** Waits for what the contract promises without an instant. */
  soon(what: string, condition: () => Promise<boolean>): Promise<void>;
}

/** An enqueued job, and what was asked for. */
export interface GivenJob {
  readonly job_id: string;
  readonly request: EnqueueRequest;
}

/** A job and its first claim. */
export interface RunningJob extends GivenJob {
  readonly lease: LeaseRequest;
  readonly claim: ClaimResponse;
}

/** Puts a fresh world into a case's hands. It stays the caller's to close. */
export async function rigOf<World extends JobsWorld>(
  conformance: JobsConformance<World>,
  world: World,
  configuration: WorldConfiguration,
): Promise<Rig> {
  const clock = conformance.clock === "waited" ? waitingClock : conformance.clock(world);
  const start = await clock.now();
  const clients = conformanceCallers.map((caller) => [caller, createJobsClient(world.handle(caller))]);
  const { producer, worker, observer, ...others } = Object.fromEntries(clients) as Record<
    ConformanceCaller,
    JobsClient
  >;
  let keys = 0;
  const rig: Rig = {
    ...others,
    producer,
    worker,
    observer,
    configuration,
    handle: (caller) => world.handle(caller),
    endpoint: () => offered(conformance.endpoint).call(conformance, world),
    request(given = {}) {
      keys += 1;
      return {
        queue: configuration.queues[0] ?? "",
        kind: "mail.send",
        payload: { to: "ada" },
        idempotency_key: `key-${keys}`,
        available_at: longAgo,
        max_attempts: 3,
        ...given,
      };
    },
    async enqueue(given) {
      const request = rig.request(given);
      const { job_id } = await valueOf(producer.enqueue(request));
      return { job_id, request };
    },
    async running(given) {
      const job = await rig.enqueue(given);
      const claim = await rig.claim(job.request.queue);
      if (claim.job_id !== job.job_id)
        throw new ConformanceFailure("expected the only due job from a claim, got another");
      return { ...job, claim, lease: leaseOf(claim) };
    },
    claim: (queue = configuration.queues[0] ?? "") => valueOf(worker.claim({ queue })),
    async claimAll(queue = configuration.queues[0] ?? "") {
      const ids: string[] = [];
      for (let bound = 0; bound < 1000; bound += 1) {
        const answer = await worker.claim({ queue });
        if (!answer.ok) return ids;
        ids.push(answer.value.job_id);
      }
      throw new ConformanceFailure("expected a queue to have no job left after 1000 claims");
    },
    inspect: (job_id) => valueOf(observer.inspect({ job_id })),
    advance: (milliseconds) => clock.advance(milliseconds),
    passLease: () => clock.advance(configuration.lease_seconds * 1000),
    passDelay: () => clock.advance(configuration.retry_max_seconds * 1000),
    at: (seconds) => addMilliseconds(start, seconds * 1000),
    maintain: () => offered(conformance.maintain).call(conformance, world),
    fence: () => offered(conformance.fence).call(conformance, world),
    holdLease: (jobId) => offered(conformance.holdLease).call(conformance, world, jobId),
    async soon(what, condition) {
      const { patienceMs = 5000 } = conformance;
      for (const deadline = performance.now() + patienceMs; !(await condition()); ) {
        if (performance.now() > deadline)
          throw new ConformanceFailure(`expected within ${patienceMs} ms that ${what}`);
        await pause(5);
      }
    },
  };
  return rig;
}

/** Job and token of a claim: what a worker shows for its lease. */
export function leaseOf({ job_id, lease_token }: LeaseRequest): LeaseRequest {
  return { job_id, lease_token };
}

/** `count` results of a function of the index. */
export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

const longAgo = "2001-01-01T00:00:00Z";
const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A margin more than asked for: the provider's clock and the timer's need not agree to the millisecond. */
const waitingClock = {
  now: async () => longAgo,
  advance: (milliseconds: number) => pause(milliseconds + 50),
};

/** The needs of a case have been compared with what the provider offers before it runs. */
function offered<T>(member: T | undefined): T {
  if (member === undefined) throw new TypeError("a case uses what it does not list under `needs`");
  return member;
}
