import { createJobsClient, createSignalsClient } from "../../../capability/index.ts";
import { type Host, secretsFromMap, startHost } from "../../../host-fixtures/index.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";
import { jobsPlugin } from "../../../plugin/index.ts";
import { createJobsTaskProvider, type JobsTaskProviderOptions } from "../../../tasks/jobs/index.ts";
import {
  createPostgresTaskProvider,
  migratePostgresTaskQueue,
  type PostgresTaskProviderOptions,
} from "../../../tasks/postgres/index.ts";
import type { TaskProvider } from "../../../tasks/provider.ts";

export const providerKinds = ["pg-boss", "lenso.jobs@1"] as const;
export type ProviderKind = (typeof providerKinds)[number];

export interface OpenProvidersOptions {
  readonly kind: ProviderKind;
  readonly url: string;
  /** Every queue that will be asked for: a Jobs Instance knows them from its configuration, pg-boss has to be given them. */
  readonly queues: readonly string[];
  /** False where another process has made them for pg-boss. Default true. */
  readonly makeQueues?: boolean;
  /** Of `lenso.jobs@1`. The shortest lease of pg-boss is 10 s, and is used. Default 3. */
  readonly leaseSeconds?: number;
  /** Whether idle workers are woken. Default true; pg-boss's always are. */
  readonly signals?: boolean;
  /** Of `lenso.jobs@1`: connections are opened as they are needed (driver `pg`), not as many as a pool may have. Default false. */
  readonly frugal?: boolean;
  readonly onError?: (error: unknown) => void;
}

/** Providers of one kind, as one process has them. */
export interface Providers extends AsyncDisposable {
  open(
    queue: string,
    changes?: Partial<PostgresTaskProviderOptions> & Partial<JobsTaskProviderOptions>,
  ): Required<TaskProvider>;
  /** Closes what has been opened. */
  close(): Promise<void>;
}

export async function openProviders(options: OpenProvidersOptions): Promise<Providers> {
  const opened: TaskProvider[] = [];
  if (options.kind === "pg-boss" && options.makeQueues !== false)
    for (const queueName of options.queues)
      await migratePostgresTaskQueue({ connectionString: options.url, queueName });
  const host = options.kind === "pg-boss" ? undefined : await startJobsHost(options);
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((provider) => provider.close()));
    await host?.stop();
  };
  return {
    open(queue, changes) {
      const provider =
        host === undefined ? openPostgres(options, queue, changes) : openJobs(host, options, queue, changes);
      opened.push(provider);
      return provider as Required<TaskProvider>;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function openPostgres(
  { url, onError }: OpenProvidersOptions,
  queueName: string,
  changes: Partial<PostgresTaskProviderOptions> = {},
): TaskProvider {
  return createPostgresTaskProvider({
    queueName,
    ...(changes.pool === undefined ? { connectionString: url } : {}),
    heartbeatSeconds: 10,
    superviseIntervalSeconds: 1,
    pollIntervalMs: 200,
    onError,
    ...changes,
  });
}

function openJobs(
  host: Host,
  { url, leaseSeconds = 3, signals = true, frugal = false, onError }: OpenProvidersOptions,
  queue: string,
  changes: Partial<JobsTaskProviderOptions> = {},
): TaskProvider {
  return createJobsTaskProvider({
    jobs: createJobsClient(host.handle("app", "jobs")),
    queue,
    leaseSeconds,
    ...(changes.pool === undefined ? { connectionString: url } : {}),
    ...(frugal && changes.pool === undefined ? { driver: "pg" } : {}),
    pollIntervalMs: 200,
    sweepIntervalSeconds: 1,
    ...(signals ? { signals: createSignalsClient(host.handle("app", "signals")) } : {}),
    ...(onError === undefined ? {} : { onError }),
    ...changes,
  });
}

function startJobsHost({
  url,
  queues,
  leaseSeconds = 3,
  frugal = false,
}: OpenProvidersOptions): Promise<Host> {
  return startHost({
    instances: {
      secrets: { plugin: secretsFromMap({ "jobs/database": url }) },
      jobs: {
        plugin: jobsPlugin,
        configuration: {
          schema: "jobs",
          database_url_secret: "jobs/database",
          lease_seconds: leaseSeconds,
          retry_base_seconds: 1,
          retry_max_seconds: 1,
          queues,
          producer_instances: ["app"],
          worker_instances: ["app"],
          driver: frugal ? "pg" : "bun",
        },
      },
      app: {
        plugin: testPlugin({
          provides: {},
          needs: [
            { id: "jobs", capability: "lenso.jobs@1" },
            { id: "signals", capability: "lenso.jobs-signals@1" },
          ],
        }),
      },
    },
    bindings: [
      { consumer: "jobs", requirement: "secrets", provider: "secrets" },
      { consumer: "app", requirement: "jobs", provider: "jobs" },
      { consumer: "app", requirement: "signals", provider: "jobs" },
    ],
  });
}
