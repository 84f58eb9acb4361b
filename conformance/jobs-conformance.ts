import type { CapabilityHandle, CapabilityProviderBinding } from "../capability/index.ts";
import type { TestClock } from "../host-fixtures/clock.ts";

/** What there is to know of a provider of `lenso.jobs@1` to run its contract. What is left out is not tested. */
export interface JobsConformance<World extends JobsWorld = JobsWorld> {
  /** Stands in front of the names of the tests. */
  readonly name: string;
  /** A fresh Instance of this configuration without any job, which no other test knows. It must be ready for calls. */
  provide(configuration: WorldConfiguration): Promise<World>;
  /**
   * Moves the time that the provider decides by, and stands still otherwise. `waited`: the time of that provider can only be waited
   * for; leases then last 4 s, what needs an exact instant is left out, and the whole takes about three minutes instead of seconds.
   */
  readonly clock: "waited" | ((world: World) => TestClock);
  /** One round of maintenance, now. A provider that has this must do none by itself meanwhile, or the bounds of a claim cannot be seen. */
  maintain?(world: World): Promise<void>;
  /** What the operator does after a restore from backup: every lease is void from now on, and its job as if the lease had expired. */
  fence?(world: World): Promise<void>;
  /** Holds what a settlement of this running job has to wait for, and changes nothing: on a database, its row's lock. */
  holdLease?(world: World, jobId: string): Promise<HeldLease>;
  /** The endpoint as a host calls it, for calls that no consumer's handle can make. */
  endpoint?(world: World): CapabilityProviderBinding;
  /** How long something may take that the contract promises without an instant, in ms of real time: the undo of a claim, the turn of expired jobs while due ones keep coming. Default 5000. */
  readonly patienceMs?: number;
}

/** One composed Instance of the provider. */
export interface JobsWorld {
  /** What the host gives that caller. A caller stands in the lists of the configuration, or in none. */
  handle(caller: ConformanceCaller): CapabilityHandle;
  /** Releases what `provide` took. */
  close(): Promise<void>;
}

/** The keys of the Instances that call. `stranger` has no role. */
export const conformanceCallers = [
  "producer",
  "producer2",
  "worker",
  "worker2",
  "observer",
  "stranger",
] as const;

/** One of {@link conformanceCallers}. */
export type ConformanceCaller = (typeof conformanceCallers)[number];

/** What a test asks of the Instance's configuration: the fields of `lenso.jobs@1` without those of its storage. */
export interface WorldConfiguration {
  readonly lease_seconds: number;
  readonly retry_base_seconds: number;
  readonly retry_max_seconds: number;
  readonly queues: readonly string[];
  readonly producer_instances: readonly string[];
  readonly worker_instances: readonly string[];
  readonly observer_instances: readonly string[];
}

/** A lease that a settlement has to wait for. */
export interface HeldLease {
  /** Resolves once a call waits for it. */
  waited(): Promise<void>;
  /** Lets the call go on. Safe twice. */
  release(): Promise<void>;
}

/** The usual configuration of a provider whose clock can be moved. */
export const usualConfiguration: WorldConfiguration = {
  lease_seconds: 30,
  retry_base_seconds: 10,
  retry_max_seconds: 60,
  queues: ["mail", "other"],
  producer_instances: ["producer", "producer2"],
  worker_instances: ["worker", "worker2"],
  observer_instances: ["observer"],
};

/** The same where time has to be waited for. */
export const waitedConfiguration: WorldConfiguration = {
  ...usualConfiguration,
  lease_seconds: 4,
  retry_base_seconds: 1,
  retry_max_seconds: 1,
};
