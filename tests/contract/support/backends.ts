import type { CapabilityHandle, CapabilityProviderBinding, JobsClient } from "../../../capability/index.ts";
import { createJobsClient, type PluginFactory } from "../../../capability/index.ts";
import { createTestClock, type TestClock } from "../../../host-fixtures/clock.ts";
import { databaseClockExpression } from "../../../host-fixtures/database-clock.ts";
import { startHost } from "../../../host-fixtures/host.ts";
import { createMemoryJobs } from "../../../host-fixtures/memory-jobs.ts";
import { secretsFromMap } from "../../../host-fixtures/secrets.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";
import type { JobsConfig } from "../../../plugin/config.ts";
import type { JobsInstance } from "../../../plugin/jobs-instance.ts";
import { createJobsPlugin } from "../../../plugin/plugin.ts";
import { afterTestFile } from "../../support/after-test-file.ts";
import { borrowDatabase, type ContractDatabase } from "./contract-database.ts";
import { expectEachJobInOnePlace } from "./invariants.ts";

export type PostgresBackend = "PostgreSQL, driver bun" | "PostgreSQL, driver pg";
export type Backend = "memory" | PostgresBackend;

/** Where the contract has to hold with real concurrency and tables to look into. */
export const postgresBackends: readonly PostgresBackend[] = [
  "PostgreSQL, driver bun",
  "PostgreSQL, driver pg",
];

/** Where the contract has to hold. */
export const backends: readonly Backend[] = ["memory", ...postgresBackends];

const firstStart = "2026-01-01T00:00:00.000000Z";
let startedAt = firstStart;

/** The instant at which the present test began; the clock stands still unless the test moves it. */
export const start = (): string => startedAt;

export const callers = ["producer", "producer2", "worker", "worker2", "observer", "stranger"] as const;
export type Caller = (typeof callers)[number];

/** The configuration of the Jobs Instance under test. */
export const configuration: Omit<JobsConfig, "transaction_pooler" | "driver" | "poll_interval_ms"> = {
  schema: "jobs",
  database_url_secret: "jobs/url",
  lease_seconds: 30,
  retry_base_seconds: 10,
  retry_max_seconds: 60,
  queues: ["mail", "other"],
  producer_instances: ["producer", "producer2"],
  worker_instances: ["worker", "worker2"],
  observer_instances: ["observer"],
};

/** A composed host around one Jobs Instance, with a client for each caller. */
export interface Bundle extends AsyncDisposable, Readonly<Record<Caller, JobsClient>> {
  readonly backend: Backend;
  readonly clock: TestClock;
  /** Present on PostgreSQL. */
  readonly database?: ContractDatabase;
  /** The plugin's own object, or undefined for the memory model. */
  readonly instance: JobsInstance | undefined;
  /** The endpoint as the host calls it, for calls that no consumer's handle could make. */
  readonly endpoint: CapabilityProviderBinding;
  handle(caller: Caller): CapabilityHandle;
  /** One round of maintenance, now. */
  maintain(): Promise<void>;
  stop(): Promise<void>;
  /** Stops, and starts a host with another configuration on the same jobs. */
  restart(overrides?: Partial<JobsConfig>): Promise<void>;
  /** Starts one more host on the same jobs, as another process would. Dispose of it first. */
  another(overrides?: Partial<JobsConfig>): Promise<Bundle>;
}

export interface PostgresBundle extends Bundle {
  readonly database: ContractDatabase;
  readonly instance: JobsInstance;
}

/**
 * An Instance without any job. Disposing of it checks where its jobs are. A host of the usual configuration is used again by
 * the next test, as warm as in production; any other is stopped.
 */
export async function open(backend: Backend, overrides: Partial<JobsConfig> = {}): Promise<Bundle> {
  return backend === "memory" ? openMemory(overrides) : openPostgres(backend, overrides);
}

export async function openPostgres(
  backend: PostgresBackend,
  overrides: Partial<JobsConfig> = {},
  maintenanceIntervalMs: number = never,
): Promise<PostgresBundle> {
  const usual = Object.keys(overrides).length === 0 && maintenanceIntervalMs === never;
  const kept = usual ? idle.get(backend)?.pop() : undefined;
  if (kept) {
    startedAt = await kept.database.clear();
    return kept;
  }
  startedAt = firstStart;
  const database = await borrowDatabase(startedAt);
  const driver = driverOf(backend);
  const makeJobs = () => postgresJobs(maintenanceIntervalMs);
  const bundle = await compose(backend, database.clock, { ...overrides, driver }, makeJobs, {
    database,
    check: () => expectEachJobInOnePlace(database),
    keep: (running) => usual && idle.get(backend)?.push(running as PostgresBundle) !== undefined,
    end: () => database.giveBack(),
  }).catch((error: unknown) => {
    database.giveBack();
    throw error;
  });
  if (usual) afterTestFile(() => bundle.stop());
  return bundle as PostgresBundle;
}

const idle = new Map(postgresBackends.map((backend) => [backend, [] as PostgresBundle[]]));
afterTestFile(async () => {
  for (const bundles of idle.values()) bundles.length = 0;
});

/** The plugin under test before any host has it. */
export function pluginOf(backend: Backend): { plugin: PluginFactory; configuration: object } {
  if (backend === "memory") return { plugin: createMemoryJobs(), configuration };
  return {
    plugin: postgresJobs(never).plugin,
    configuration: { ...configuration, driver: driverOf(backend) },
  };
}

interface Jobs {
  readonly plugin: PluginFactory;
  readonly instance: () => JobsInstance | undefined;
  readonly maintain: () => Promise<void>;
}

function openMemory(overrides: Partial<JobsConfig>): Promise<Bundle> {
  startedAt = firstStart;
  const clock = createTestClock(startedAt);
  const plugin = createMemoryJobs({ clock });
  const maintain = async () => plugin.store("jobs").maintain();
  return compose("memory", clock, overrides, () => ({ plugin, instance: () => undefined, maintain }), {
    ...nothing,
  });
}

/** Maintenance runs when a test asks for it: its own timer would act at moments that no test knows. */
const never = 3_600_000;

function postgresJobs(maintenanceIntervalMs: number): Jobs {
  let instance: JobsInstance | undefined;
  const engine = { clock: databaseClockExpression, maintenanceIntervalMs };
  const plugin = createJobsPlugin(engine, (_key, created) => {
    instance = created;
  });
  return { plugin, instance: () => instance, maintain: async () => instance?.maintain() };
}

const driverOf = (backend: PostgresBackend) => (backend === "PostgreSQL, driver pg" ? "pg" : "bun");

interface Storage {
  readonly database?: ContractDatabase;
  /** Looks whether all jobs are where they belong. */
  check(): Promise<void>;
  /** Keeps a host that runs as it was started, for the next test. */
  keep(bundle: Bundle): boolean;
  end(): void;
}

const nothing = { check: async () => {}, keep: () => false, end: () => {} };

async function compose(
  backend: Backend,
  clock: TestClock,
  first: Partial<JobsConfig>,
  makeJobs: () => Jobs,
  storage: Storage,
): Promise<Bundle> {
  let running = await startJobsHost(makeJobs(), first, storage);
  let touched = false;
  const client = (caller: Caller): JobsClient =>
    createJobsClient({ invoke: (...call) => running.handle(caller).invoke(...call) });
  const clients = Object.fromEntries(callers.map((caller) => [caller, client(caller)]));
  const bundle: Bundle = {
    ...(clients as Record<Caller, JobsClient>),
    backend,
    clock,
    ...(storage.database && { database: storage.database }),
    get instance() {
      return running.jobs.instance();
    },
    get endpoint() {
      return running.endpoint();
    },
    handle: (caller: Caller) => running.handle(caller),
    maintain: () => running.jobs.maintain(),
    async stop() {
      touched = true;
      await running.stop();
    },
    async restart(overrides: Partial<JobsConfig> = {}) {
      touched = true;
      await running.stop();
      running = await startJobsHost(makeJobs(), { ...first, ...overrides }, storage);
    },
    another: (overrides: Partial<JobsConfig> = {}) =>
      compose(backend, clock, { ...first, ...overrides }, makeJobs, { ...storage, ...nothing }),
    async [Symbol.asyncDispose]() {
      if (touched || !storage.keep(bundle)) {
        await running.stop();
        storage.end();
      }
      await storage.check();
    },
  };
  return bundle;
}

async function startJobsHost(jobs: Jobs, overrides: Partial<JobsConfig>, { database }: Storage) {
  let endpoint: CapabilityProviderBinding | undefined;
  const plugin: PluginFactory = {
    ...jobs.plugin,
    instantiate(input) {
      const instance = jobs.plugin.instantiate(input);
      endpoint = instance.endpoints[0];
      return instance;
    },
  };
  const consumer = testPlugin({ provides: {}, needs: [{ id: "jobs", capability: "lenso.jobs@1" }] });
  const host = await startHost({
    instances: {
      secrets: { plugin: secretsFromMap({ "jobs/url": database?.url ?? "unused" }) },
      jobs: { plugin, configuration: { ...configuration, ...overrides } },
      ...Object.fromEntries(callers.map((key) => [key, { plugin: consumer }])),
    },
    bindings: [
      { consumer: "jobs", requirement: "secrets", provider: "secrets" },
      ...callers.map((key) => ({ consumer: key, requirement: "jobs", provider: "jobs" })),
    ],
  });
  return {
    jobs,
    endpoint: () => endpoint as CapabilityProviderBinding,
    handle: (caller: Caller) => host.handle(caller, "jobs") as CapabilityHandle,
    stop: () => host.stop(),
  };
}
