import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { createJobsClient, type JobsClient } from "../../../../capability/index.ts";
import { databaseClock } from "../../../../host-fixtures/index.ts";
import { newRecordId } from "../../../../tasks/jobs/new-record-id.ts";
import type { ExecutionResult } from "../../../../tasks/provider.ts";
import { afterTestFile } from "../../../../tests/support/after-test-file.ts";
import { testDatabase } from "../../../../tests/support/test-database.ts";
import { digestJson, digestOf } from "../../../canonical/digest.ts";
import type { JobArtifactStore } from "../../../ports/job-artifact-store.ts";
import type { HostedProvider, HostParts } from "../../host-parts.ts";
import { cancelJobIfOpen } from "../../records/cancel-job-if-open.ts";
import { insertJob } from "../../records/insert-job.ts";
import type { Dispatch } from "../../records/record-types.ts";
import { sweepJobs } from "../../sweep-jobs.ts";
import { checkJobHost } from "../../testing/check-job-host.ts";
import {
  emptyTables,
  jobHostTemplate,
  sealInput,
  startJobsHost,
} from "../../testing/job-host-composition.ts";
import { type JobClaim, JobWorkerBackend } from "../job-worker-backend.ts";
import { type JobWorker, type JobWorkerOptions, startJobWorker } from "../start-job-worker.ts";
import { openAttemptParts } from "./open-attempt-parts.ts";
import { type Script, type TestProviderId, testProviders } from "./test-providers.ts";

/** A composed host with a Jobs Instance, the records of a job host in the same database, stores in a folder, and a clock that all read. */
export interface AttemptWorld extends AsyncDisposable {
  readonly url: string;
  readonly sql: SQL;
  /** Where everything lies that is in files. */
  readonly directory: string;
  readonly artifacts: JobArtifactStore;
  /** Troubles told to `onError`. */
  readonly told: unknown[];
  /** The parts of the host, for an Instance of its own. */
  parts(changes?: Partial<HostParts>): HostParts;
  client(): JobsClient;
  /** An accepted and dispatched job that does what the script says. Its input has the files `a.txt` and `b/c.txt`. */
  accept(provider: TestProviderId, script: Script, changes?: { maxAttempts?: number }): Promise<string>;
  /** The worker's verbs without the runtime, so that a test decides when each is sent. */
  backend(changes?: Partial<HostParts>): JobWorkerBackend;
  worker(options?: JobWorkerOptions, changes?: Partial<HostParts>): JobWorker;
  sweep(): Promise<void>;
  cancel(id: string): Promise<void>;
  /** Moves the clocks of records and jobs. */
  advance(seconds: number): Promise<void>;
  row(id: string): Promise<Record<string, unknown>>;
  /** The states that a job went through, each with its code if it has one. */
  story(id: string): Promise<string[]>;
  /** Resolves when all of these jobs are in that state. */
  untilStates(ids: readonly string[], state: string): Promise<void>;
  /** Roles and paths that count. */
  published(id: string): Promise<string[]>;
  /** Empties the tables, also of what broke an invariant on purpose. */
  forgetJobs(): Promise<void>;
  /** Says at which checkpoints the provider can resume. Default: at all. */
  compatibleWith(check: (metadata: { readonly step: number }) => boolean): void;
}

let made: Promise<PooledWorld> | undefined;

/** A world without any job, the same for all tests of a file. When it is left, whatever the test did must have kept the invariants. */
export async function openAttemptWorld(): Promise<AttemptWorld> {
  made ??= makeWorld();
  const world = await made;
  return { ...world, [Symbol.asyncDispose]: () => world.reset() };
}

type PooledWorld = AttemptWorld & { reset(): Promise<void> };

async function makeWorld(): Promise<PooledWorld> {
  const { url } = await testDatabase(jobHostTemplate);
  const directory = await mkdtemp(join(tmpdir(), "job-attempts-"));
  const clock = databaseClock(url);
  const sql = new SQL(url, { max: 2, connection: { search_path: "job_host" } });
  const composed = await startJobsHost(url);
  const client = (): JobsClient => createJobsClient(composed.handle("app", "jobs"));
  const scripts = new Map<string, Script>();
  const always = (): boolean => true;
  let compatible: (metadata: { readonly step: number }) => boolean = always;
  const scriptOf = (id: string): Script =>
    scripts.get(id) ??
    (() => {
      throw new Error("a job without a script");
    });
  const providers = testProviders(scriptOf, (metadata) => compatible(metadata));
  const told: unknown[] = [];
  const onError = (error: unknown): void => void told.push(error);
  const opened = openAttemptParts({ url, directory, jobs: client(), providers, onError });
  const { artifacts, revisions } = opened.parts;
  const revision = await sealInput(directory, revisions);
  const { records } = opened.parts;
  const parts = (changes: Partial<HostParts> = {}): HostParts => ({ ...opened.parts, ...changes });
  const workers: JobWorker[] = [];

  const world: PooledWorld = {
    url,
    sql,
    directory,
    artifacts,
    told,
    parts,
    client,
    async accept(id, script, { maxAttempts = 3 } = {}) {
      const { descriptor } = parts().providers.get(id) as HostedProvider;
      const jobId = newRecordId();
      scripts.set(jobId, script);
      const dispatch = await insertJob(records, {
        id: jobId,
        keyDigest: digestOf(jobId).slice("sha256:".length),
        requestDigest: digestOf(jobId),
        recovery: descriptor.recovery.mode,
        maxAttempts,
        provider: { id, version: descriptor.version, manifestDigest: descriptor.manifestDigest },
        input: { revision, paths: ["/a.txt", "/b/c.txt"] },
        configuration: {
          value: { cells: 7 },
          digest: digestJson({ cells: 7 }),
          providerManifestDigest: descriptor.manifestDigest,
        },
      });
      await parts().dispatch(dispatch as Dispatch);
      return jobId;
    },
    backend: (changes) => new JobWorkerBackend(parts(changes), async () => undefined),
    worker(options, changes) {
      const worker = startJobWorker(parts(changes), options);
      workers.push(worker);
      return worker;
    },
    sweep: () => sweepJobs(parts(), { dispatchAgainSeconds: 5 }),
    async cancel(id) {
      await cancelJobIfOpen(records, id);
    },
    advance: (seconds) => clock.advance(seconds * 1000),
    async row(id) {
      const [row] = await sql`select * from job where id = ${id}`;
      return row;
    },
    async story(id) {
      const rows: { state: string; code: string | null }[] =
        await sql`select state, code from event where job = ${id} order by revision`;
      return rows.map(({ state, code }) => (code === null ? state : `${state} ${code}`));
    },
    async untilStates(ids, state) {
      const moved = opened.parts.watch(() => look());
      const all = Promise.withResolvers<void>();
      const look = (): void => {
        void Promise.all(ids.map((id) => world.row(id))).then((rows) => {
          if (rows.every((row) => row["state"] === state)) all.resolve();
        }, all.reject);
      };
      look();
      await all.promise.finally(moved);
    },
    async published(id) {
      const rows: { role: string; path: string }[] = await sql`
        select distinct role, path from artifact where job = ${id} and discarded_at is null order by role, path`;
      return rows.map(({ role, path }) => `${JSON.parse(role)} ${JSON.parse(path)}`);
    },
    async forgetJobs() {
      await sql.unsafe(emptyTables).simple();
    },
    compatibleWith(check) {
      compatible = check;
    },
    async reset() {
      await Promise.all(workers.splice(0).map((worker) => worker.stop()));
      try {
        await checkJobHost(sql);
      } finally {
        told.length = 0;
        scripts.clear();
        compatible = always;
        await world.forgetJobs();
      }
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  afterTestFile(async () => {
    made = undefined;
    await opened.close(async () => undefined);
    await composed.stop();
    await Promise.all([sql.close(), clock.close()]);
    await rm(directory, { recursive: true, force: true });
  });
  return world;
}

/** Runs a claimed attempt's provider and settles how it ended. Without a signal nobody asks it to stop. */
export async function workOne(
  backend: JobWorkerBackend,
  claim: JobClaim,
  signal: AbortSignal = new AbortController().signal,
): Promise<"settled" | "lost"> {
  return backend.settle(claim, await enter(backend, claim, signal));
}

/** Runs a claimed attempt's provider. Without `gone` the job stays the attempt's for all that it is told. */
export function enter(
  backend: JobWorkerBackend,
  { jobId, attempt, task, input }: JobClaim,
  signal: AbortSignal = new AbortController().signal,
  gone: AbortSignal = new AbortController().signal,
): Promise<ExecutionResult> {
  return backend.execute({ jobId, attempt, task, input, signal, gone });
}

/** The one job that is due. */
export async function claimOne(backend: JobWorkerBackend): Promise<JobClaim> {
  const [claim] = await backend.fetch(1);
  if (claim === undefined) throw new Error("no job was due");
  return claim;
}
