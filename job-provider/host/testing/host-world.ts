import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { createJobsClient, type JobsClient } from "../../../capability/index.ts";
import { databaseClock, databaseClockExpression } from "../../../host-fixtures/index.ts";
import { afterTestFile } from "../../../tests/support/after-test-file.ts";
import { testDatabase } from "../../../tests/support/test-database.ts";
import { createFileArtifactStore } from "../../files/create-file-artifact-store.ts";
import { createFileRevisionStore } from "../../files/create-file-revision-store.ts";
import type { JobReference } from "../../lifecycle/job-snapshot.ts";
import type { JobArtifactStore } from "../../ports/job-artifact-store.ts";
import type { JobRevisionStore } from "../../ports/job-revision-store.ts";
import type { JobRevision, JobSubmitInput } from "../../submission/job-submit-input.ts";
import { createHostWith } from "../create-job-host.ts";
import { checkJobHostOptions, type JobHostOptions } from "../host-options.ts";
import type { JobHost } from "../job-host.ts";
import { openHost } from "../open-host.ts";
import { sweepJobs } from "../sweep-jobs.ts";
import { checkJobHost } from "./check-job-host.ts";
import { hostProviders, type ProviderWork } from "./host-providers.ts";
import {
  emptyTables,
  jobHostTemplate,
  leaseSeconds,
  type Module,
  queueName,
  sealInput,
  startJobsHost,
} from "./job-host-composition.ts";

/** A composed host with a Jobs Instance, the records of a job host in the same database, stores in a folder, and a clock that all read. */
export interface HostWorld extends AsyncDisposable {
  readonly url: string;
  readonly sql: SQL;
  /** Where everything lies that is in files. */
  readonly directory: string;
  readonly revisions: JobRevisionStore;
  readonly artifacts: JobArtifactStore;
  /** A sealed input of `/a.txt`, `/b/c.txt` and `/unselected.txt`. */
  readonly revision: JobRevision;
  /** What the providers do; back to the default after each test. */
  readonly work: ProviderWork;
  /** Troubles told to `onError`. */
  readonly told: unknown[];
  client(module?: Module): JobsClient;
  /** A job host on the world's database. Its workers sweep rarely unless the test says otherwise. Closed with the world. */
  host(options?: Partial<JobHostOptions>): JobHost;
  /** A submission that is fine as it is, under a key of its own. */
  submission(changes?: Partial<JobSubmitInput>, provider?: "restart" | "reconcile"): JobSubmitInput;
  /** An accepted job. */
  accept(host: JobHost, provider?: "restart" | "reconcile"): Promise<JobReference>;
  /** One sweep, now, by way of that client or of that Instance's. */
  sweep(by?: Module | JobsClient): Promise<void>;
  /** Moves the clocks of records and jobs. */
  advance(seconds: number): Promise<void>;
  row(reference: JobReference): Promise<Record<string, unknown>>;
  /** The states that a job went through, each with its code if it has one. */
  story(reference: JobReference): Promise<string[]>;
}

let made: Promise<PooledWorld> | undefined;

/** A world without any job, the same for all tests of a file. When it is left, whatever the test did must have kept the invariants. */
export async function openHostWorld(): Promise<HostWorld> {
  made ??= makeWorld();
  const world = await made;
  return { ...world, [Symbol.asyncDispose]: () => world.reset() };
}

type PooledWorld = HostWorld & { reset(): Promise<void> };

const idleWork = (): ProviderWork => ({
  execute: async () => ({ cells: 7 }),
  command: async () => 0,
});

async function makeWorld(): Promise<PooledWorld> {
  const { url } = await testDatabase(jobHostTemplate);
  const directory = await mkdtemp(join(tmpdir(), "job-host-"));
  const clock = databaseClock(url);
  const sql = new SQL(url, { max: 2, connection: { search_path: "job_host" } });
  const composed = await startJobsHost(url);
  const revisions = createFileRevisionStore({ directory: join(directory, "revisions"), authorityId: "test" });
  const artifacts = createFileArtifactStore({ directory: join(directory, "artifacts") });
  const revision = await sealInput(directory, revisions);
  const work: ProviderWork = idleWork();
  const told: unknown[] = [];
  const hosts: JobHost[] = [];
  const providers = hostProviders({
    execute: (services) => work.execute(services),
    command: (call) => work.command(call),
  });
  const client = (module: Module = "app"): JobsClient => createJobsClient(composed.handle(module, "jobs"));
  let keys = 0;
  const optionsOf = (changes: Partial<JobHostOptions>): JobHostOptions => ({
    hostId: "test",
    database: { connectionString: url },
    jobs: client(),
    queue: queueName,
    leaseSeconds,
    providers,
    revisions,
    artifacts,
    workspaceDirectory: join(directory, "workspaces"),
    pollIntervalMs: 50,
    sweepIntervalSeconds: 3600,
    onError: (error) => told.push(error),
    ...changes,
  });

  const world: PooledWorld = {
    url,
    sql,
    directory,
    revisions,
    artifacts,
    revision,
    work,
    told,
    client,
    host(options = {}) {
      const host = createHostWith({ clock: databaseClockExpression }, optionsOf(options));
      hosts.push(host);
      return host;
    },
    async sweep(by) {
      const jobs = typeof by === "object" ? by : client(by);
      const { parts, close } = openHost(checkJobHostOptions(optionsOf({ jobs })), databaseClockExpression);
      try {
        await sweepJobs(parts, { dispatchAgainSeconds: 5 });
      } finally {
        await close(async () => undefined);
      }
    },
    submission(changes = {}, provider = "restart") {
      const descriptor = providers.find(({ id }) => id === provider) as (typeof providers)[number];
      const { id, version, manifestDigest } = descriptor;
      keys += 1;
      return {
        provider: { id, version, manifestDigest },
        input: { revision, paths: ["/a.txt", "/b/c.txt"] },
        configuration: { value: { label: "bridge" }, explicitPointers: ["/label"] },
        submissionKey: `order-${keys}`,
        ...changes,
      };
    },
    async accept(host, provider) {
      const outcome = await host.submit(world.submission({}, provider));
      if (outcome.status !== "accepted") throw new Error(`the job was not accepted: ${outcome.status}`);
      return outcome.reference;
    },
    advance: (seconds) => clock.advance(seconds * 1000),
    async row({ jobId }) {
      const [row] = await sql`select * from job where id = ${jobId}`;
      return row;
    },
    async story({ jobId }) {
      const rows: { state: string; code: string | null }[] =
        await sql`select state, code from event where job = ${jobId} order by revision`;
      return rows.map(({ state, code }) => (code === null ? state : `${state} ${code}`));
    },
    async reset() {
      await Promise.all(hosts.splice(0).map((host) => host.close()));
      try {
        await checkJobHost(sql);
      } finally {
        told.length = 0;
        Object.assign(work, idleWork());
        await sql.unsafe(emptyTables).simple();
      }
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  afterTestFile(async () => {
    made = undefined;
    await composed.stop();
    await Promise.all([sql.close(), clock.close()]);
    await rm(directory, { recursive: true, force: true });
  });
  return world;
}
