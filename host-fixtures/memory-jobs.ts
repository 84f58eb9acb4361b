import { jobsCapability, type PluginFactory, RuntimeFailureError } from "../capability/index.ts";
import { accessOf } from "../plugin/access.ts";
import { parseJobsConfig } from "../plugin/config.ts";
import { jobsEndpoint } from "../plugin/endpoint.ts";
import { type InstantSource, systemClock } from "./clock.ts";
import type { JobTable } from "./memory-job.ts";
import { MemoryJobStore } from "./memory-job-store.ts";

export interface MemoryJobsOptions {
  /** A clock from `createTestClock()`, to drive leases and retries by hand. Default: the process's clock. */
  readonly clock?: InstantSource;
}

/** The plugin, and the stores behind its Instances. */
export interface MemoryJobs extends PluginFactory {
  /** The store of an Instance, for `maintain()` and `fence()`, which no capability offers. @throws Error for an unknown key. */
  store(instanceKey: string): MemoryJobStore;
}

/**
 * `lenso.jobs@1` in memory, for unit tests of modules that use it: the plugin's own endpoint and operations over the
 * reference model. It takes the configuration of the real plugin. The jobs of a key stay while this object lives, so a host
 * can be restarted on it; maintenance runs only when a test asks for it.
 *
 * @example
 * const clock = createTestClock();
 * const jobs = createMemoryJobs({ clock });
 * const host = await startHost({ instances: { jobs: { plugin: jobs, configuration }, … }, bindings });
 * await clock.advance(30_000); // every lease of 30 s has expired
 */
export function createMemoryJobs({ clock = systemClock }: MemoryJobsOptions = {}): MemoryJobs {
  const tables = new Map<string, JobTable>();
  const stores = new Map<string, MemoryJobStore>();
  return {
    packageId: "lenso.jobs.memory",
    packageVersion: "1.0.0",
    requirements: [
      { id: "secrets", capability: "lenso.secrets@1", version: "1.0.0", cardinality: "optional" },
    ],
    capabilities: [jobsCapability.descriptor],
    instantiate({ instanceKey, configuration }) {
      const config = parseJobsConfig(configuration);
      const table = tables.get(instanceKey) ?? { byRow: new Map(), byKey: new Map() };
      const store = new MemoryJobStore(config, clock, table);
      tables.set(instanceKey, table);
      stores.set(instanceKey, store);
      let phase: "new" | "open" | "closed" = "new";
      const openStore = (): MemoryJobStore => {
        if (phase === "open") return store;
        throw phase === "new"
          ? new RuntimeFailureError("unavailable", `Jobs Instance "${instanceKey}" is not prepared yet`)
          : new RuntimeFailureError(
              "admission_closed",
              `Jobs Instance "${instanceKey}" has been deactivated`,
            );
      };
      return {
        endpoints: [jobsEndpoint(accessOf(config), { queues: new Set(config.queues), store: openStore })],
        async prepare() {
          phase = "open";
        },
        async deactivate() {
          phase = "closed";
        },
      };
    },
    store(instanceKey) {
      const store = stores.get(instanceKey);
      if (store === undefined)
        throw new Error(`no host has an Instance "${instanceKey}" of these memory jobs yet`);
      return store;
    },
  };
}
