import {
  createJobsClient,
  createSignalsClient,
  type JobsClient,
  type PluginFactory,
  type SignalsClient,
} from "../../../capability/index.ts";
import {
  databaseClockExpression,
  type Host,
  secretsFromMap,
  startHost,
} from "../../../host-fixtures/index.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";
import type { JobsInstance } from "../../../plugin/jobs-instance.ts";
import { createJobsPlugin } from "../../../plugin/plugin.ts";
import { jobsSchema } from "./jobs-database.ts";

export const drivers = ["bun", "pg"] as const;
export type TestDriver = (typeof drivers)[number];

export interface JobsHostOptions {
  readonly url: string;
  /** Default `bun`. */
  readonly driver?: TestDriver;
  /** Default: the database's test clock. */
  readonly clock?: string;
  /** Default `jobs`. */
  readonly key?: string;
  /** Over the configuration that these tests share. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Default: so long that only {@link JobsHost.maintain} does any. */
  readonly maintenanceIntervalMs?: number;
  /** How long a listening connection may leave a notification to itself unheard, in ms. Default: the engine's. */
  readonly echoMs?: number;
  /** Default: one that knows `jobs/database` as `url`. */
  readonly secrets?: PluginFactory;
  readonly prepareTimeoutMs?: number;
  readonly stopTimeoutMs?: number;
}

/** A composed host with one Jobs Instance and the modules that use it. */
export interface JobsHost extends AsyncDisposable {
  readonly host: Host;
  readonly producer: JobsClient;
  readonly otherProducer: JobsClient;
  readonly worker: JobsClient;
  readonly otherWorker: JobsClient;
  readonly observer: JobsClient;
  readonly stranger: JobsClient;
  /** Of the worker. */
  readonly signals: SignalsClient;
  /** One round of maintenance, now. */
  maintain(): Promise<void>;
  stop(): Promise<void>;
}

/** What every Instance of these tests is configured with unless the test says otherwise. */
export const configurationOf = (
  options: { readonly driver?: TestDriver | undefined } = {},
): Record<string, unknown> => ({
  schema: jobsSchema,
  database_url_secret: "jobs/database",
  lease_seconds: 30,
  retry_base_seconds: 5,
  retry_max_seconds: 60,
  queues: ["mail", "other"],
  producer_instances: ["producer", "other-producer"],
  worker_instances: ["worker", "other-worker"],
  observer_instances: ["observer"],
  driver: options.driver ?? "bun",
});

const modules = ["producer", "other-producer", "worker", "other-worker", "observer", "stranger"] as const;

export async function startJobs(options: JobsHostOptions): Promise<JobsHost> {
  const { key = "jobs", clock = databaseClockExpression, maintenanceIntervalMs = 3_600_000 } = options;
  const echo = options.echoMs === undefined ? {} : { echoMs: options.echoMs };
  let instance: JobsInstance | undefined;
  const plugin = createJobsPlugin({ clock, maintenanceIntervalMs, ...echo }, (_, made) => {
    instance = made;
  });
  const secrets = options.secrets ?? secretsFromMap({ "jobs/database": options.url });
  const module = testPlugin({
    needs: [
      { id: "jobs", capability: "lenso.jobs@1" },
      { id: "signals", capability: "lenso.jobs-signals@1" },
    ],
    provides: {},
  });
  const host = await startHost({
    instances: {
      secrets: { plugin: secrets },
      [key]: { plugin, configuration: { ...configurationOf(options), ...options.configuration } },
      ...Object.fromEntries(modules.map((name) => [name, { plugin: module }])),
    },
    bindings: [
      { consumer: key, requirement: "secrets", provider: "secrets" },
      ...modules.flatMap((consumer) =>
        ["jobs", "signals"].map((requirement) => ({ consumer, requirement, provider: key })),
      ),
    ],
    ...(options.prepareTimeoutMs !== undefined && { prepareTimeoutMs: options.prepareTimeoutMs }),
    ...(options.stopTimeoutMs !== undefined && { stopTimeoutMs: options.stopTimeoutMs }),
  });
  const client = (name: (typeof modules)[number]) => createJobsClient(host.handle(name, "jobs"));
  return {
    host,
    producer: client("producer"),
    otherProducer: client("other-producer"),
    worker: client("worker"),
    otherWorker: client("other-worker"),
    observer: client("observer"),
    stranger: client("stranger"),
    signals: createSignalsClient(host.handle("worker", "signals")),
    maintain: async () => instance?.maintain(),
    stop: () => host.stop(),
    [Symbol.asyncDispose]: () => host.stop(),
  };
}
