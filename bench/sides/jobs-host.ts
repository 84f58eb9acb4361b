import { jobsPlugin } from "lenso-jobs-plugin";
import {
  type CallResult,
  createJobsClient,
  createSignalsClient,
  type JobsClient,
  type PluginFactory,
  type SignalsClient,
} from "lenso-jobs-plugin/capability";
import { secretsFromMap, startHost } from "lenso-jobs-plugin/host-fixtures";
import { setup } from "lenso-jobs-plugin/operator";
import { queueName, type SideOptions } from "./side.ts";

/** A composed host, and what its one module gets. */
export interface JobsHost {
  readonly jobs: JobsClient;
  readonly signals: SignalsClient;
  stop(): Promise<void>;
}

export const leaseSeconds = 60;

/** The front door of this package: a host with a Jobs Instance and a module bound to it. */
export async function openJobsHost(options: SideOptions, driver: "bun" | "pg"): Promise<JobsHost> {
  const { databaseUrl, schema } = options;
  if (options.first) {
    const report = await setup({ databaseUrl, schema });
    if (!report.ok) throw new Error(report.message);
  }
  const host = await startHost({
    instances: {
      secrets: { plugin: secretsFromMap({ database: databaseUrl }) },
      jobs: {
        plugin: jobsPlugin,
        configuration: {
          schema,
          database_url_secret: "database",
          lease_seconds: leaseSeconds,
          retry_base_seconds: 1,
          retry_max_seconds: 60,
          queues: [queueName, ...Array.from({ length: options.queues }, (_, index) => nameOf(index))],
          producer_instances: ["app"],
          worker_instances: ["app"],
          driver,
        },
      },
      app: { plugin: application },
    },
    bindings: [
      { consumer: "jobs", requirement: "secrets", provider: "secrets" },
      { consumer: "app", requirement: "jobs", provider: "jobs" },
      { consumer: "app", requirement: "signals", provider: "jobs" },
    ],
  });
  const signals = host.handle("app", "signals");
  if (signals === undefined) throw new Error("the host gave no signals");
  return {
    jobs: createJobsClient(host.handle("app", "jobs")),
    signals: createSignalsClient(signals),
    stop: () => host.stop(),
  };
}

/** The name of one of many queues. */
export function nameOf(index: number): string {
  return `${queueName}-${index}`;
}

/** The value of a call. @throws Error with what the call answered instead. */
export function valueOf<T>(result: CallResult<T, string>): T {
  if (result.ok) return result.value;
  throw new Error(`the call was answered ${JSON.stringify(result.error)}`);
}

const application: PluginFactory = {
  packageId: "bench.app",
  packageVersion: "1.0.0",
  requirements: [
    { id: "jobs", capability: "lenso.jobs@1", version: "1.0.0", cardinality: "one" },
    { id: "signals", capability: "lenso.jobs-signals@1", version: "1.0.0", cardinality: "optional" },
  ],
  capabilities: [],
  instantiate: () => ({ endpoints: [] }),
};
