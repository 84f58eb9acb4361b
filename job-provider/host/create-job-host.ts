import { databaseClock } from "../../plugin/store/sql-context.ts";
import { isRecordId } from "../../tasks/jobs/carrier-job.ts";
import type { JobReference } from "../lifecycle/job-snapshot.ts";
import { type JobWorker, startJobWorker } from "./attempt/start-job-worker.ts";
import { commandJob } from "./commands/command-job.ts";
import { refuseCall } from "./commands/job-call-outcome.ts";
import { queryJob } from "./commands/query-job.ts";
import { resolveJobAttention } from "./commands/resolve-job-attention.ts";
import { checkJobHostOptions, type JobHostOptions } from "./host-options.ts";
import type { JobHost } from "./job-host.ts";
import { JobHostError } from "./job-host-error.ts";
import { openHost } from "./open-host.ts";
import {
  readCommandRequest,
  readJobReference,
  readListRequest,
  readLogRequest,
  readOperationName,
  readQueryRequest,
  readResolution,
} from "./read-requests.ts";
import { readableArtifacts } from "./readable-artifacts.ts";
import { cancelJobIfOpen } from "./records/cancel-job-if-open.ts";
import { inspectJob } from "./records/inspect-job.ts";
import { listJobs } from "./records/list-jobs.ts";
import { listLogs } from "./records/list-logs.ts";
import { readJob } from "./records/read-job.ts";
import { readProgress } from "./records/read-progress.ts";
import { readResult } from "./records/read-result.ts";
import { submitJob } from "./submission/submit-job.ts";
import { JobWatch } from "./watch-job.ts";

/**
 * A host of jobs: long computations on sealed inputs, recorded in a schema made by `migrateJobHost` and carried to workers by a bound
 * `lenso.jobs@1`. Starts nothing and connects to nothing yet.
 *
 * @throws JobHostError `invalid-options`; `cause` names the key
 * @example
 * const host = createJobHost({
 *   hostId: "simulations",
 *   database: { connectionString: databaseUrl },
 *   jobs: createJobsClient(context.handle("jobs")),
 *   queue: "simulations",
 *   leaseSeconds: 30,
 *   providers: [mesh()],
 *   revisions: createFileRevisionStore({ … }),
 *   artifacts: createFileArtifactStore({ … }),
 * });
 * const worker = host.startWorker({ concurrency: 2 });
 */
export function createJobHost(options: JobHostOptions): JobHost {
  return createHostWith({ clock: databaseClock }, options);
}

/** @internal The same with another clock in the statements, for tests that move time. */
export function createHostWith(engine: { readonly clock: string }, options: JobHostOptions): JobHost {
  const { parts, run, closing, isClosed, close } = openHost(checkJobHostOptions(options), engine.clock);
  const { records } = parts;
  const watches = new Set<JobWatch>();
  const workers = new Set<JobWorker>();
  let closed: Promise<void> | undefined;

  /** The id, when it can be one of ours at all: anything else never reaches the database. */
  const idOf = (reference: JobReference): string | undefined => {
    const { hostId, jobId } = readJobReference(reference);
    return hostId === parts.hostId && isRecordId(jobId) ? jobId : undefined;
  };
  const read = async <T>(
    reference: JobReference,
    work: (id: string) => Promise<T | undefined>,
  ): Promise<T | null> => {
    const id = idOf(reference);
    return run(async () => (id === undefined ? undefined : await work(id)) ?? null);
  };
  const linked = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? closing : AbortSignal.any([signal, closing]);

  return Object.freeze<JobHost>({
    submit: async (request) => run(() => submitJob(parts, request)),
    get: (reference) => read(reference, (id) => readJob(records, id)),
    inspect: (reference) => read(reference, (id) => inspectJob(records, id, parts.providers)),
    result: (reference) => read(reference, (id) => readResult(records, id)),
    progress: (reference) => read(reference, (id) => readProgress(records, id)),
    artifacts: (reference) =>
      read(reference, async (id) =>
        (await readResult(records, id)) === undefined ? undefined : readableArtifacts(parts, id),
      ),
    async list(request = {}) {
      const { limit, ...filters } = readListRequest(request);
      return run(async () => {
        const found = await listJobs(records, { ...filters, limit: limit + 1 });
        const jobs = Object.freeze(found.slice(0, limit));
        const next = found.length > limit ? (jobs.at(-1)?.reference.jobId ?? null) : null;
        return Object.freeze({ jobs, next });
      });
    },
    async logs(reference, request = {}) {
      const page = readLogRequest(request);
      return read(reference, async (id) => {
        const lines = await listLogs(records, id, page);
        if (lines === undefined) return undefined;
        const next = lines.length === page.limit ? (lines.at(-1)?.ordinal ?? null) : null;
        return Object.freeze({ lines: Object.freeze(lines), next });
      });
    },
    async cancel(reference) {
      const id = idOf(reference);
      return run(async () => {
        if (id === undefined) return refuseCall("JOB_NOT_FOUND");
        const revision = await cancelJobIfOpen(records, id);
        if (revision !== undefined) return Object.freeze({ ok: true, revision });
        const job = await readJob(records, id);
        if (job === undefined) return refuseCall("JOB_NOT_FOUND");
        return job.state === "cancelled"
          ? Object.freeze({ ok: true, revision: job.revision })
          : refuseCall("JOB_TERMINAL");
      });
    },
    async resolveAttention(reference, request) {
      const id = idOf(reference);
      const { signal, ...decided } = readResolution(request);
      return run(async () =>
        id === undefined
          ? refuseCall("JOB_NOT_FOUND")
          : resolveJobAttention(parts, id, { ...decided, signal: linked(signal) }),
      );
    },
    async query(reference, name, request = {}) {
      const id = idOf(reference);
      const { value, signal } = readQueryRequest(request);
      const asked = { name: readOperationName(name), value, signal: linked(signal) };
      return run(async () => (id === undefined ? refuseCall("JOB_NOT_FOUND") : queryJob(parts, id, asked)));
    },
    async command(reference, name, request) {
      const id = idOf(reference);
      const read = readCommandRequest(request);
      const asked = { ...read, name: readOperationName(name), signal: linked(read.signal) };
      return run(async () => (id === undefined ? refuseCall("JOB_NOT_FOUND") : commandJob(parts, id, asked)));
    },
    watch(reference, watchOptions = {}) {
      if (isClosed()) throw new JobHostError("closed");
      return new JobWatch(parts, { id: idOf(reference), options: watchOptions, run, watches });
    },
    startWorker(workerOptions = {}) {
      if (isClosed()) throw new JobHostError("closed");
      const worker = startJobWorker(parts, workerOptions);
      workers.add(worker);
      void worker.done
        .catch(() => undefined)
        .then(() => {
          workers.delete(worker);
        });
      return worker;
    },
    close(stopOptions) {
      const stopAll = (): Promise<unknown> =>
        Promise.all([...workers].map((worker) => worker.stop(stopOptions)));
      if (closed !== undefined) void stopAll();
      closed ??= close(async () => {
        for (const watch of watches) watch.close();
        await stopAll();
      });
      return closed;
    },
  });
}
