import {
  jobsCapability,
  type PluginFactory,
  secretsCapability,
  signalsCapability,
} from "../capability/index.ts";
import configurationSchema from "./config.schema.json" with { type: "json" };
import { parseJobsConfig } from "./config.ts";
import { endpointsOf } from "./endpoint.ts";
import { type EngineOptions, JobsInstance } from "./jobs-instance.ts";
import { packageVersion } from "./package-version.ts";
import { databaseClock } from "./store/sql-context.ts";

/**
 * The Jobs plugin: each keyed Instance of it is a durable queue over one PostgreSQL schema of its own, providing
 * `lenso.jobs@1`, and `lenso.jobs-signals@1` to wake its workers.
 *
 * An Instance needs `secrets` (`lenso.secrets@1`) to find its database URL, and a schema made by `lenso-jobs setup`.
 *
 * @example
 * startHost({
 *   instances: {
 *     secrets: { plugin: secretsFromEnvironment({ "jobs/database": "DATABASE_URL" }) },
 *     jobs: { plugin: jobsPlugin, configuration },
 *   },
 *   bindings: [{ consumer: "jobs", requirement: "secrets", provider: "secrets" }],
 * });
 */
export const jobsPlugin: PluginFactory = createJobsPlugin({
  clock: databaseClock,
  maintenanceIntervalMs: 5000,
});

/** The plugin with another engine clock or maintenance rhythm, for tests; `onInstance` hands out what a host does not show. */
export function createJobsPlugin(
  engine: EngineOptions,
  onInstance?: (key: string, instance: JobsInstance) => void,
): PluginFactory {
  return {
    packageId: "lenso.jobs",
    packageVersion,
    requirements: [
      {
        id: "secrets",
        capability: secretsCapability.descriptor.capability_id,
        version: "1.0.0",
        cardinality: "one",
      },
    ],
    capabilities: [jobsCapability.descriptor, signalsCapability.descriptor],
    configurationSchema,
    instantiate({ instanceKey, configuration }) {
      const config = parseJobsConfig(configuration);
      const instance = new JobsInstance(instanceKey, config, engine);
      onInstance?.(instanceKey, instance);
      const { jobs, signals } = endpointsOf(config, () => instance.store());
      return {
        endpoints: [jobs, signals],
        prepare: (context) => instance.prepare(context.handle("secrets"), context.signal),
        activate: () => instance.activate(),
        deactivate: (context) => instance.deactivate(Math.max(0, context.deadline - performance.now())),
      };
    },
  };
}
