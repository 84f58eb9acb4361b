import { SQL } from "bun";
import {
  createJobsClient,
  createSignalsClient,
  type JobsClient,
  type PluginFactory,
  type SignalsClient,
} from "../../../capability/index.ts";
import { addMilliseconds, type InstantSource, systemClock } from "../../../host-fixtures/clock.ts";
import {
  createMemoryJobs,
  createTestJobsPlugin,
  databaseClock,
  databaseClockExpression,
  type Host,
  installDatabaseClock,
  secretsFromMap,
  startHost,
} from "../../../host-fixtures/index.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";
import { setup } from "../../../plugin/operator/index.ts";
import { afterTestFile } from "../../../tests/support/after-test-file.ts";
import { testDatabase } from "../../../tests/support/test-database.ts";
import type { TaskProvider } from "../../provider.ts";
import { createProviderWith } from "../create-jobs-task-provider.ts";
import type { JobsQueue } from "../jobs-queue.ts";
import { migrateJobsTaskQueue } from "../migration/migrate-jobs-task-queue.ts";
import { openJobsQueue } from "../open-jobs-queue.ts";
import { checkProviderOptions, type JobsTaskProviderOptions } from "../options.ts";
import { RecordDatabase } from "../records/record-database.ts";
import { sweepRecords } from "../sweep-records.ts";
import { JobsWorkerBackend } from "../worker-backend.ts";

/** Instances that use the Jobs Instance, by what they may do there. */
export const modules = ["app", "other", "producer", "worker", "stranger"] as const;
export type Module = (typeof modules)[number];

export const leaseSeconds = 30;
export const queueName = "tasks";

export interface TaskWorldOptions {
  /** `same` and `separate`: the real plugin, on the record's database or another. `memory`: the model. Default `same`. */
  readonly jobs?: "same" | "separate" | "memory";
  readonly leaseSeconds?: number;
}

/** A composed host with a Jobs Instance, a migrated record, and a clock that both read. */
export interface TaskWorld extends AsyncDisposable {
  readonly host: Host;
  /** The record's database. */
  readonly url: string;
  readonly sql: SQL;
  /** The Jobs Instance's database. */
  readonly jobsSql: SQL;
  /** Troubles told to `onError`. */
  readonly told: unknown[];
  client(module?: Module): JobsClient;
  signals(module?: Module): SignalsClient | undefined;
  /** A provider of a module; its workers sweep rarely unless the test says otherwise. Closed with the world. */
  provider(options?: Partial<JobsTaskProviderOptions> & { readonly as?: Module }): TaskProvider;
  /** The worker's verbs without the runtime, so that a test decides when each is sent. */
  backend(options?: { readonly as?: Module; readonly jobs?: JobsClient }): JobsWorkerBackend;
  /** One sweep, now. */
  sweep(options?: {
    readonly as?: Module;
    readonly jobs?: JobsClient;
    readonly retentionSeconds?: number;
  }): Promise<void>;
  /** Moves the clocks of record and jobs. */
  advance(seconds: number): Promise<void>;
  /** The row of a record. */
  row(id: string): Promise<Record<string, unknown>>;
  maintain(): Promise<void>;
}

/** A world without any task. Those that earlier tests of the file gave back are used again. */
export async function openTaskWorld(options: TaskWorldOptions = {}): Promise<TaskWorld> {
  const key = JSON.stringify(options);
  const world = free.get(key)?.pop() ?? (await makeTaskWorld(options));
  return {
    ...world,
    async [Symbol.asyncDispose]() {
      await world.reset();
      free.set(key, [...(free.get(key) ?? []), world]);
    },
  };
}

interface PooledWorld extends TaskWorld {
  /** Closes what the test opened and forgets every task and job. */
  reset(): Promise<void>;
}

const free = new Map<string, PooledWorld[]>();

async function makeTaskWorld(options: TaskWorldOptions): Promise<PooledWorld> {
  const kind = options.jobs ?? "same";
  const lease = options.leaseSeconds ?? leaseSeconds;
  const { url } = await testDatabase({ template: "tasks_on_jobs", prepare });
  const jobsUrl =
    kind === "separate" ? (await testDatabase({ template: "tasks_on_jobs", prepare })).url : url;
  const clocks = [databaseClock(url), ...(jobsUrl === url ? [] : [databaseClock(jobsUrl)])];
  let ahead = 0;
  const memoryClock: InstantSource = {
    get instant() {
      return addMilliseconds(systemClock.instant, ahead);
    },
  };
  const memory = createMemoryJobs({ clock: memoryClock });
  const real = createTestJobsPlugin();
  const host = await startJobsHost(kind === "memory" ? memory : real, jobsUrl, lease);
  const sql = new SQL(url, { max: 2, connection: { search_path: "tasks" } });
  const jobsSql = new SQL(jobsUrl, { max: 1, connection: { search_path: "jobs" } });
  const told: unknown[] = [];
  const providers: TaskProvider[] = [];

  const client = (module: Module = "app"): JobsClient => createJobsClient(host.handle(module, "jobs"));
  const signals = (module: Module = "app"): SignalsClient | undefined => {
    const handle = host.handle(module, "signals");
    return handle === undefined ? undefined : createSignalsClient(handle);
  };
  const optionsOf = (jobs: JobsClient): JobsTaskProviderOptions => ({
    jobs,
    queue: queueName,
    leaseSeconds: lease,
    connectionString: url,
    pollIntervalMs: 50,
    sweepIntervalSeconds: 3600,
    onError: (error) => told.push(error),
  });
  const database = new RecordDatabase({ connectionString: url });
  const queueOf = (jobs: JobsClient): JobsQueue =>
    openJobsQueue(checkProviderOptions(optionsOf(jobs)), database, databaseClockExpression);

  const world: PooledWorld = {
    host,
    url,
    sql,
    jobsSql,
    told,
    client,
    signals,
    provider({ as, ...changes } = {}) {
      const given = { ...optionsOf(client(as)), ...changes };
      const { connectionString, ...rest } = given;
      const provider = createProviderWith(
        { clock: databaseClockExpression },
        rest.pool !== undefined || connectionString === undefined ? rest : given,
      );
      providers.push(provider);
      return provider;
    },
    backend({ as, jobs = client(as) } = {}) {
      return new JobsWorkerBackend(queueOf(jobs), {
        signals: undefined,
        pollIntervalMs: 50,
        ready: async () => undefined,
      });
    },
    sweep({ as, jobs = client(as), retentionSeconds = 604_800 } = {}) {
      return sweepRecords(queueOf(jobs), { retentionSeconds, dispatchAgainSeconds: 5 });
    },
    async advance(seconds) {
      await Promise.all(clocks.map((clock) => clock.advance(seconds * 1000)));
      ahead += seconds * 1000;
    },
    async row(id) {
      const [row] = await sql`select * from task where id = ${id}`;
      return row;
    },
    async maintain() {
      if (kind === "memory") memory.store("jobs").maintain();
      else await real.maintain("jobs");
    },
    async reset() {
      await Promise.all(providers.splice(0).map((provider) => provider.close()));
      told.length = 0;
      await sql.unsafe("truncate task, deduplication_key, queue").simple();
      await jobsSql.unsafe("truncate jobs, ready, lease, outcome").simple();
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  afterTestFile(async () => {
    free.clear();
    await host.stop();
    await Promise.all([
      sql.close(),
      jobsSql.close(),
      database.close(),
      ...clocks.map((clock) => clock.close()),
    ]);
  });
  return world;
}

async function prepare(url: string): Promise<void> {
  const report = await setup({ databaseUrl: url, schema: "jobs" });
  if (!report.ok) throw new Error(report.message);
  await migrateJobsTaskQueue({ connectionString: url });
  await installDatabaseClock(url);
}

function startJobsHost(plugin: PluginFactory, url: string, lease: number): Promise<Host> {
  const real = plugin.packageId === "lenso.jobs";
  const needs = [
    { id: "jobs", capability: "lenso.jobs@1" },
    { id: "signals", capability: "lenso.jobs-signals@1", cardinality: "optional" as const },
  ];
  const module = testPlugin({ provides: {}, needs });
  const signalled = plugin.capabilities.some(({ capability_id: id }) => id === "lenso.jobs-signals@1");
  return startHost({
    instances: {
      ...(real && { secrets: { plugin: secretsFromMap({ "jobs/database": url }) } }),
      jobs: {
        plugin,
        configuration: {
          schema: "jobs",
          database_url_secret: "jobs/database",
          lease_seconds: lease,
          retry_base_seconds: 1,
          retry_max_seconds: 1,
          queues: [queueName, "unused"],
          producer_instances: ["app", "other", "producer"],
          worker_instances: ["app", "other", "worker"],
        },
      },
      ...Object.fromEntries(modules.map((key) => [key, { plugin: module }])),
    },
    bindings: [
      ...(real ? [{ consumer: "jobs", requirement: "secrets", provider: "secrets" }] : []),
      ...modules.flatMap((consumer) => [
        { consumer, requirement: "jobs", provider: "jobs" },
        ...(signalled ? [{ consumer, requirement: "signals", provider: "jobs" }] : []),
      ]),
    ],
  });
}
