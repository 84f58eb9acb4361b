import type { CapabilityProviderBinding, PluginFactory } from "../../capability/index.ts";
import { jobsCapability } from "../../capability/index.ts";
import { createTestClock, type InstantSource, type TestClock } from "../../host-fixtures/clock.ts";
import { startHost } from "../../host-fixtures/host.ts";
import type { JobTable } from "../../host-fixtures/memory-job.ts";
import { MemoryJobStore } from "../../host-fixtures/memory-job-store.ts";
import { testPlugin } from "../../host-fixtures/testing/test-plugin.ts";
import { accessOf } from "../../plugin/access.ts";
import { type JobsConfig, parseJobsConfig } from "../../plugin/config.ts";
import { jobsEndpoint } from "../../plugin/endpoint.ts";
import type { JobStore } from "../../plugin/store/job-store.ts";
import {
  conformanceCallers,
  type JobsConformance,
  type JobsWorld,
  type WorldConfiguration,
} from "../jobs-conformance.ts";
import { LeaseLocks, withLocks } from "./lease-locks.ts";

/** What a variant of the model has to work with. */
export interface Model {
  readonly config: JobsConfig;
  readonly clock: TestClock & InstantSource;
  readonly table: JobTable;
  /** The model itself. */
  readonly store: MemoryJobStore;
  readonly locks: LeaseLocks;
}

/** Where a variant departs from the model. Without any of them it is the model. */
export interface Departure {
  /** Verbs that take the place of the model's; they stand inside the locks. */
  store?(model: Model): Partial<JobStore>;
  /** Settlements outside the locks: what is done before and after the wait. */
  outside?(model: Model, waiting: JobStore): Partial<JobStore>;
  /** The clock that the store reads. */
  clock?(clock: InstantSource): InstantSource;
  /** The configuration that the store, the queues and the roles are made of. */
  config?(config: JobsConfig): JobsConfig;
  /** The endpoint around it all. */
  endpoint?(inner: CapabilityProviderBinding, model: Model): CapabilityProviderBinding;
  maintain?(model: Model): void;
  fence?(model: Model): void;
}

/** A world of the model, whose parts can be reached. */
export interface ModelWorld extends JobsWorld {
  readonly model: Model;
  readonly endpoint: CapabilityProviderBinding;
}

/** The in-memory model behind a seam for each of its parts, composed by a real host. */
export function modelConformance(name: string, departure: Departure = {}): JobsConformance<ModelWorld> {
  return {
    name,
    provide: (configuration) => openWorld(configuration, departure),
    clock: ({ model }) => model.clock,
    async maintain({ model }) {
      if (departure.maintain) departure.maintain(model);
      else model.store.maintain();
    },
    async fence({ model }) {
      if (departure.fence) departure.fence(model);
      else model.store.fence();
    },
    holdLease: async ({ model }, jobId) => model.locks.hold(jobId),
    endpoint: ({ endpoint }) => endpoint,
    patienceMs: 60,
  };
}

async function openWorld(configuration: WorldConfiguration, departure: Departure): Promise<ModelWorld> {
  const given = parseJobsConfig({ schema: "jobs", database_url_secret: "unused", ...configuration });
  const config = departure.config?.(given) ?? given;
  const clock = createTestClock();
  const table: JobTable = { byRow: new Map(), byKey: new Map() };
  const store = new MemoryJobStore(config, departure.clock?.(clock) ?? clock, table);
  const model: Model = { config, clock, table, store, locks: new LeaseLocks() };
  const inside = verbsOf(store, departure.store?.(model));
  const waiting = withLocks(inside, model.locks);
  const whole = verbsOf(waiting, departure.outside?.(model, waiting));
  const deps = { queues: new Set(config.queues), store: () => whole };
  const inner = jobsEndpoint(accessOf(config), deps);
  const endpoint = departure.endpoint?.(inner, model) ?? inner;
  const host = await startHost({
    instances: {
      jobs: { plugin: pluginWith(endpoint) },
      ...Object.fromEntries(conformanceCallers.map((key) => [key, { plugin: consumer }])),
    },
    bindings: conformanceCallers.map((key) => ({ consumer: key, requirement: "jobs", provider: "jobs" })),
  });
  return {
    model,
    endpoint,
    handle(caller) {
      const handle = host.handle(caller, "jobs");
      if (handle === undefined) throw new Error(`the host has no handle for ${caller}`);
      return handle;
    },
    close: () => host.stop(),
  };
}

/** The verbs of a store, some of them replaced, as an object whose verbs need no `this`. */
function verbsOf(store: JobStore, replaced: Partial<JobStore> = {}): JobStore {
  return {
    enqueue: (job, call) => store.enqueue(job, call),
    claim: (request, call) => store.claim(request, call),
    renew: (lease, call) => store.renew(lease, call),
    complete: (lease, call) => store.complete(lease, call),
    fail: (lease, failure, call) => store.fail(lease, failure, call),
    inspect: (id, call) => store.inspect(id, call),
    ...replaced,
  };
}

const consumer: PluginFactory = testPlugin({
  provides: {},
  needs: [{ id: "jobs", capability: "lenso.jobs@1" }],
});

function pluginWith(endpoint: CapabilityProviderBinding): PluginFactory {
  return {
    packageId: "model",
    packageVersion: "1.0.0",
    requirements: [],
    capabilities: [jobsCapability.descriptor],
    instantiate: () => ({ endpoints: [endpoint] }),
  };
}
