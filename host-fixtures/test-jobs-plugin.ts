import type { PluginFactory } from "../capability/index.ts";
import type { JobsInstance } from "../plugin/jobs-instance.ts";
import { createJobsPlugin } from "../plugin/plugin.ts";
import { databaseClockExpression } from "./database-clock.ts";

/** The Jobs plugin for tests that move time, and maintenance when they say so. */
export interface TestJobsPlugin extends PluginFactory {
  /** One round of maintenance of a started Instance, now: expired leases of all its queues are taken back. */
  maintain(instanceKey: string): Promise<void>;
}

/**
 * The real Jobs plugin on a real database, with the clock of `installDatabaseClock` instead of the server's. Its own maintenance
 * runs every `maintenanceIntervalMs` of real time, default an hour, so that a test decides.
 */
export function createTestJobsPlugin(
  options: { readonly maintenanceIntervalMs?: number } = {},
): TestJobsPlugin {
  const instances = new Map<string, JobsInstance>();
  const engine = {
    clock: databaseClockExpression,
    maintenanceIntervalMs: options.maintenanceIntervalMs ?? 3_600_000,
  };
  return {
    ...createJobsPlugin(engine, (key, instance) => instances.set(key, instance)),
    async maintain(instanceKey) {
      const instance = instances.get(instanceKey);
      if (instance === undefined)
        throw new TypeError(`no Instance "${instanceKey}" of this plugin was started`);
      await instance.maintain();
    },
  };
}
